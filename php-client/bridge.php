<?php

/**
 * The bridge: the one PHP file the sidecar runs through PHP-FPM.
 *
 * One FPM request is one job. The bridge says hello, loads the team's code unchanged, calls it, and at the very end
 * of the request prints the verdict in a line that only it can print. Success is that line, never the absence of an
 * error: what FPM answers after exit(1), a fatal error after flush() or a half-written body looks like success.
 *
 * It is one file without dependencies, so that a copy can be put anywhere FPM may read (open_basedir, a chroot,
 * another container), written for PHP 7.2 and newer. Global scope belongs to the team: no variable, function or
 * constant of ours lives there. Functions may be missing (disable_functions), and so may /proc.
 */

declare(strict_types=1);

namespace Sidecar\Bridge {

    /**
     * What became of the job: the content of the sign.
     */
    final class Verdict
    {
        public const DONE = 'done';
        public const FAILED = 'failed';
        public const REJECTED = 'rejected';
        public const DEFERRED = 'deferred';
        public const UNAVAILABLE = 'unavailable';

        private const ERROR_CHARACTERS = 500;
        private const TRACE_CHARACTERS = 2000;

        /** Where a deferring handler names no delay: none at all would run the job again at once, and so for ever. */
        private const DEFAULT_DELAY_MS = 5000;

        /** A year: beyond that the number is a mistake, and it must fit an integer. */
        private const MAX_DELAY_MS = 31536000000;

        /** @var string */
        private $verdict;

        /** @var string */
        private $error;

        /** @var string */
        private $trace;

        /** @var int */
        private $delayMs;

        private function __construct(string $verdict, string $error = '', string $trace = '', int $delayMs = 0)
        {
            $this->verdict = $verdict;
            $this->error = $error;
            $this->trace = $trace;
            $this->delayMs = $delayMs;
        }

        public static function done(string $note = ''): self
        {
            return new self(self::DONE, $note);
        }

        public static function failed(string $why, string $trace = ''): self
        {
            return new self(self::FAILED, $why, $trace);
        }

        /** What a handler says by returning. */
        public static function returned($result, bool $failOnFalse): self
        {
            if (Unrun::is($result)) {
                return self::failed('returned a ' . \strtolower(\get_class($result)) . ': its code has not run');
            }
            return $result === false && $failOnFalse ? self::failed('the handler returned false') : self::done();
        }

        public static function rejected(string $why): self
        {
            return new self(self::REJECTED, $why);
        }

        /** The job's code has not run: it costs the job nothing, the topic's gate shuts. */
        public static function unavailable(string $why): self
        {
            return new self(self::UNAVAILABLE, $why);
        }

        /**
         * What a handler says by throwing. Rejecting and deferring go by the short name of the class or by a method
         * sidecarVerdict(), so that no team needs a class of ours.
         */
        public static function thrown(\Throwable $thrown): self
        {
            $error = self::text($thrown);
            $trace = Trace::of($thrown);
            if (\method_exists($thrown, 'sidecarVerdict')) {
                return self::said($thrown->sidecarVerdict(), $error, $trace);
            }
            if (self::isNamed($thrown, 'RejectJob')) {
                return new self(self::REJECTED, $error, $trace);
            }
            if (self::isNamed($thrown, 'DeferJob')) {
                return self::deferred($error, ...self::delayOf($thrown));
            }
            return new self(self::FAILED, $error, $trace);
        }

        /** A failure of code around the handler: the place belongs to the message, it may be the only one seen. */
        public static function failedAt(string $what, \Throwable $thrown): self
        {
            return self::failed($what . self::text($thrown) . Trace::place($thrown), Trace::of($thrown));
        }

        public function isDone(): bool
        {
            return $this->verdict === self::DONE;
        }

        public function isFailed(): bool
        {
            return $this->verdict === self::FAILED;
        }

        /** The same verdict with a line added to its trace. */
        public function withNote(string $note): self
        {
            return new self($this->verdict, $this->error, $note . "\n" . $this->trace, $this->delayMs);
        }

        public function toArray(): array
        {
            return [
                'v' => $this->verdict,
                'error' => self::cut($this->error, self::ERROR_CHARACTERS),
                'trace' => self::cut($this->trace, self::TRACE_CHARACTERS),
                'delay_ms' => $this->delayMs,
            ];
        }

        private static function text(\Throwable $thrown): string
        {
            $message = $thrown->getMessage();
            return $message === '' ? \get_class($thrown) : $message;
        }

        private static function said($said, string $error, string $trace): self
        {
            $said = \is_array($said) ? $said : [];
            $verdict = $said['verdict'] ?? self::FAILED;
            if (!\in_array($verdict, [self::DONE, self::FAILED, self::REJECTED, self::DEFERRED], true)) {
                $verdict = self::FAILED;
            }
            $own = $said['error'] ?? null;
            $error = \is_string($own) && $own !== '' ? $own : $error;
            if ($verdict === self::DEFERRED) {
                return self::deferred($error, $said['delay_ms'] ?? null, 1);
            }
            return new self($verdict, $error, $verdict === self::DONE ? '' : $trace);
        }

        /** Deferred by $delay times $unit ms, or by what stands in for it; then the error says so first. */
        private static function deferred(string $error, $delay, int $unit): self
        {
            $ms = \is_numeric($delay) ? \ceil($delay * $unit) : 0.0;
            if (!\is_finite($ms) || $ms <= 0) {
                $note = 'deferred by 5 s, as it names no delay above 0: ';
                return new self(self::DEFERRED, $note . $error, '', self::DEFAULT_DELAY_MS);
            }
            if ($ms > self::MAX_DELAY_MS) {
                return new self(self::DEFERRED, 'deferred by a year at most: ' . $error, '', self::MAX_DELAY_MS);
            }
            return new self(self::DEFERRED, $error, '', (int) $ms);
        }

        private static function isNamed(\Throwable $thrown, string $shortName): bool
        {
            for ($class = \get_class($thrown); $class !== false; $class = \get_parent_class($class)) {
                if ($class === $shortName || \substr($class, -\strlen($shortName) - 1) === '\\' . $shortName) {
                    return true;
                }
            }
            return false;
        }

        /** The delay that the class holds, however it is spelt, and how many ms one of it is. */
        private static function delayOf(\Throwable $thrown): array
        {
            foreach (['delayMs' => 1, 'getDelay' => 1000, 'delay' => 1000] as $method => $unit) {
                if (\is_callable([$thrown, $method])) {
                    return [$thrown->$method(), $unit];
                }
            }
            $properties = self::properties($thrown);
            return isset($properties['delayMs']) ? [$properties['delayMs'], 1] : [$properties['delay'] ?? null, 1000];
        }

        /** All properties by their names, also protected and private ones: those of an object cast have a prefix. */
        private static function properties(\Throwable $thrown): array
        {
            $properties = [];
            foreach ((array) $thrown as $name => $value) {
                $properties[\substr((string) $name, (int) \strrpos("\0" . $name, "\0"))] = $value;
            }
            return $properties;
        }

        /** At most so many characters, not bytes (CONTRACT 1.3), and valid UTF-8 whatever came in. */
        private static function cut(string $text, int $characters): string
        {
            $text = \substr($text, 0, 4 * $characters + 4);
            $text = \json_decode(\json_encode($text, \JSON_INVALID_UTF8_SUBSTITUTE));
            $seen = 0;
            for ($i = 0, $length = \strlen($text); $i < $length; $i++) {
                if ((\ord($text[$i]) & 0xC0) !== 0x80 && $seen++ === $characters) {
                    return \substr($text, 0, $i);
                }
            }
            return $text;
        }
    }

    /**
     * Results whose code has not run to its end: whoever is given one has to run it, and nobody will.
     */
    final class Unrun
    {
        public static function is($result): bool
        {
            if ($result instanceof \Generator) {
                return !self::isThrough($result);
            }
            return $result instanceof \Fiber && !$result->isTerminated();
        }

        /** Asks without running it, as valid() would. */
        private static function isThrough(\Generator $generator): bool
        {
            try {
                $state = new \ReflectionGenerator($generator);
                return \method_exists($state, 'isClosed') && $state->isClosed();
            } catch (\ReflectionException $through) { // before PHP 8.4 there is no reflection of those
                return true;
            }
        }
    }

    /**
     * Traces without arguments: those hold payloads, which may hold telephone numbers.
     */
    final class Trace
    {
        /** The throwable and its previous ones: class, place and calls of each. */
        public static function of(\Throwable $thrown): string
        {
            $text = '';
            for ($cause = $thrown; $cause !== null; $cause = $cause->getPrevious()) {
                $text .= $cause === $thrown ? '' : 'Caused by: ' . $cause->getMessage() . "\n";
                $text .= \get_class($cause) . self::place($cause) . "\n" . self::calls($cause->getTrace());
            }
            return $text;
        }

        public static function place(\Throwable $thrown): string
        {
            return ' in ' . $thrown->getFile() . ':' . $thrown->getLine();
        }

        private static function calls(array $frames): string
        {
            $text = '';
            $number = 0;
            foreach ($frames as $frame) {
                if (($frame['file'] ?? '') === __FILE__) {
                    break; // from here on it is the bridge
                }
                $where = isset($frame['file']) ? $frame['file'] . '(' . $frame['line'] . ')' : '[internal function]';
                $text .= '#' . $number++ . ' ' . $where . ': '
                    . ($frame['class'] ?? '') . ($frame['type'] ?? '') . $frame['function'] . "()\n";
            }
            return $text . '#' . $number . " {main}\n";
        }
    }

    /**
     * PHP as this pool has it: functions may be disabled, and nothing we ask may raise a warning the team would see.
     */
    final class Php
    {
        /** @var string The last warning that quietly() kept to itself. */
        public static $warning = '';

        /**
         * The name is a variable on purpose: opcache would fold function_exists('literal') and share the answer with
         * other pools of the same FPM that have other disable_functions.
         */
        public static function has(string $function): bool
        {
            return \function_exists($function);
        }

        /** Runs $act with its warnings kept from logs, output and the team's error handler. */
        public static function quietly(callable $act)
        {
            self::$warning = '';
            if (!self::has('set_error_handler') || !self::has('restore_error_handler')) {
                return $act();
            }
            \set_error_handler(static function (int $level, string $text): bool {
                Php::$warning = $text;
                return true;
            });
            try {
                return $act();
            } finally {
                \restore_error_handler();
            }
        }

        public static function set(string $setting, string $value): void
        {
            if (self::has('ini_set')) {
                self::quietly(static function () use ($setting, $value) {
                    return \ini_set($setting, $value);
                });
            }
        }

        public static function ini(string $setting): string
        {
            return self::has('ini_get') ? (string) \ini_get($setting) : '';
        }

        /** A FastCGI parameter; $_SERVER has none where variables_order lacks its S. */
        public static function param(string $name): ?string
        {
            $value = $_SERVER[$name] ?? (self::has('getenv') ? \getenv($name) : null);
            return \is_string($value) ? $value : null;
        }

        /** A whole file or stream, or null. */
        public static function read(string $path): ?string
        {
            $content = self::quietly(static function () use ($path) {
                if (Php::has('file_get_contents')) {
                    return \file_get_contents($path);
                }
                $stream = Php::has('fopen') ? \fopen($path, 'rb') : false;
                return \is_resource($stream) ? \stream_get_contents($stream) : null;
            });
            return \is_string($content) ? $content : null;
        }

        public static function unlimitedTime(): void
        {
            if (self::has('set_time_limit')) {
                self::quietly(static function () {
                    return \set_time_limit(0);
                });
            }
        }

        public static function pid(): int
        {
            foreach (['getmypid', 'posix_getpid'] as $function) {
                if (self::has($function)) {
                    return (int) $function();
                }
            }
            return (int) self::read('/proc/self/stat'); // begins with it; 0 where it cannot be read
        }

        /**
         * Prints, and sends what it prints, now and later: behind fastcgi_finish_request() FPM drops what waits in
         * its buffer at the end.
         */
        public static function say(string $text): void
        {
            if (self::has('ob_implicit_flush')) {
                \ob_implicit_flush();
            }
            echo $text;
            if (self::has('flush')) {
                \flush();
            }
        }

        public static function canFlush(): bool
        {
            return self::has('ob_implicit_flush') || self::has('flush');
        }

        /** Whether what we print still reaches the sidecar, as far as the last write has shown. */
        public static function isCutOff(): bool
        {
            return self::has('connection_status') && (\connection_status() & 1) === 1;
        }

        /** Whether PHP ends the script when a write finds the client gone. */
        public static function diesWhenCutOff(): bool
        {
            return !self::has('ignore_user_abort') || \ignore_user_abort() === 0;
        }

        public static function ignoreCutOff(bool $ignore): void
        {
            if (self::has('ignore_user_abort')) {
                \ignore_user_abort($ignore);
            }
        }

        /** The fatal error that ended the script, or null: warnings that were seen last do not count. */
        public static function fatalError(): ?array
        {
            $last = self::has('error_get_last') ? \error_get_last() : null;
            $fatal = \E_ERROR | \E_PARSE | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;
            return $last !== null && ($last['type'] & $fatal) !== 0 ? $last : null;
        }
    }

    /**
     * What goes to the sidecar: hello, sign and report.
     */
    final class Wire
    {
        private const ANSWER_SECONDS = 2;

        /** @var string */
        private $nonce;

        /** @var string */
        private $socket;

        public function __construct(string $nonce, string $socket)
        {
            $this->nonce = $nonce;
            $this->socket = $socket;
        }

        /**
         * Tells the sidecar that the run begins, and returns whether it is there to know. FPM runs queued requests
         * whose client has gone (FPM-FACTS 4): such a run ends here, in flush() or by the answer false.
         */
        public function hello(): bool
        {
            $words = $this->id() . ' pid=' . Php::pid() . ' php=' . \PHP_VERSION;
            if (!$this->reachesClient()) {
                return $this->ask('HELLO ' . $this->id() . ' ' . Php::pid() . ' ' . \PHP_VERSION);
            }
            Php::ignoreCutOff(false);
            // Twice: the first write to a TCP connection whose other end is closed succeeds and only brings the reset.
            foreach (['', 'sidecar-hello ' . $words] as $line) {
                \error_log($line, 4);
                \flush();
            }
            if (Php::isCutOff()) {
                return false;
            }
            Php::ignoreCutOff(true);
            return true;
        }

        /** Whether error_log(..., 4) gets to the sidecar; where PHP does not tell, the socket is the safe way. */
        private function reachesClient(): bool
        {
            if (!Php::has('error_log') || !Php::has('flush')) {
                return false;
            }
            return Php::has('ini_get')
                ? !\in_array(Php::ini('fastcgi.logging'), ['', '0'], true)
                : $this->socket === '';
        }

        /** Prints the sign. If what is printed does not reach the sidecar any more, it goes over the socket. */
        public function sign(array $content): void
        {
            $words = $this->words($content);
            Php::say(self::line($words));
            if (self::isSwallowed()) {
                $this->ask('REPORT ' . $this->id() . ' ' . $words);
            }
        }

        /** The sign as text, for an output callback to append. */
        public function signature(array $content): string
        {
            return self::line($this->words($content));
        }

        private static function line(string $words): string
        {
            return "\nsidecar-verdict " . $words . "\n";
        }

        /** The payload and its hash, which only the holder of the nonce can make. */
        private function words(array $content): string
        {
            $payload = \base64_encode(\json_encode($content, \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_UNESCAPED_SLASHES));
            return \hash('sha256', $this->nonce . ':' . $payload) . ' ' . $payload;
        }

        /**
         * Whether the sign went nowhere: the client has gone, the team's code has finished the request, or an output
         * buffer that cannot be removed holds it. On a kept connection, which the sidecar uses, what is sent after
         * fastcgi_finish_request() still arrives; on others sending it finds out. Where nothing can be sent at once,
         * nobody can tell.
         */
        private static function isSwallowed(): bool
        {
            return Php::isCutOff() || !Php::canFlush() || (Php::has('ob_get_level') && \ob_get_level() > 0);
        }

        private function id(): string
        {
            return \substr(\hash('sha256', 'hello:' . $this->nonce), 0, 16);
        }

        /** Says one line over the sidecar's socket and returns whether it answered OK. */
        private function ask(string $line): bool
        {
            return $this->socket !== '' && Php::quietly(function () use ($line): bool {
                $stream = $this->connect();
                if (!\is_resource($stream)) {
                    return false;
                }
                \stream_set_timeout($stream, self::ANSWER_SECONDS);
                return \fwrite($stream, $line . "\n") !== false && \fgets($stream) === "OK\n";
            });
        }

        private function connect()
        {
            $code = 0;
            $why = '';
            if (Php::has('stream_socket_client')) {
                return \stream_socket_client($this->socket, $code, $why, self::ANSWER_SECONDS);
            }
            return Php::has('fsockopen') ? \fsockopen($this->socket, -1, $code, $why, self::ANSWER_SECONDS) : false;
        }
    }

    /**
     * The code to run is not there, or not callable with a job: nobody's job is to blame.
     */
    final class Missing extends \RuntimeException
    {
    }

    /**
     * The job cannot be given to this handler.
     */
    final class Unfit extends \RuntimeException
    {
        /** @var bool Whether another try can change anything. */
        public $forEver = false;

        public static function forEver(string $why): self
        {
            $unfit = new self($why);
            $unfit->forEver = true;
            return $unfit;
        }
    }

    /**
     * A handler named by "Class::method" or "function", and the mapping of a job to its parameters.
     */
    final class Call
    {
        private const WHOLE = 'whole';
        private const TREE = 'tree';
        private const TEXT = 'text';
        private const FIELD = 'field';
        private const SERVICE = 'service';

        /** @var string */
        private $name;

        public function __construct(string $name)
        {
            $this->name = \ltrim($name, '\\');
        }

        /** Calls the handler as PHP code without strict_types would: numeric strings become integers and so on. */
        public function with(string $text)
        {
            $parts = \explode('::', $this->name, 2);
            if (\count($parts) === 1) {
                if (!\function_exists($parts[0])) {
                    throw new Missing('function ' . $this->name . ' does not exist');
                }
                $function = new \ReflectionFunction($parts[0]);
                return $function->invokeArgs($this->arguments($function, $text));
            }
            $method = $this->method($parts[0], $parts[1]);
            $object = $method->isStatic() ? null : $this->object($parts[0]);
            return $method->invokeArgs($object, $this->arguments($method, $text));
        }

        private function method(string $class, string $name): \ReflectionMethod
        {
            if (!\class_exists($class)) {
                throw new Missing('class ' . $class . ' does not exist');
            }
            if (!\method_exists($class, $name)) {
                throw new Missing('class ' . $class . ' has no method ' . $name);
            }
            $method = new \ReflectionMethod($class, $name);
            if (!$method->isPublic() || $method->isAbstract()) {
                throw new Missing('method ' . $this->name . ' is not public or abstract');
            }
            return $method;
        }

        private function object(string $name)
        {
            $class = new \ReflectionClass($name);
            if (!$class->isInstantiable()) {
                throw new Missing('class ' . $name . ' cannot be instantiated');
            }
            $constructor = $class->getConstructor();
            if ($constructor !== null && $constructor->getNumberOfRequiredParameters() > 0) {
                throw new Missing(
                    'the constructor of ' . $name . ' requires arguments, which the bridge has none of: name a static'
                    . ' method or a function that builds it'
                );
            }
            return $class->newInstance();
        }

        /** The arguments, as references: a handler may take its job by reference, and PHP warns of mere values. */
        private function arguments(\ReflectionFunctionAbstract $function, string $text): array
        {
            $references = [];
            foreach ($this->values($function, $text) as $value) {
                $references[] = &$value;
                unset($value);
            }
            return $references;
        }

        private function values(\ReflectionFunctionAbstract $function, string $text): array
        {
            $parameters = $function->getParameters();
            $this->demandCallable($parameters);
            $only = \count($parameters) === 1 ? self::wish($parameters[0]) : self::FIELD;
            if ($only === self::TEXT) {
                return [$text];
            }
            if ($only === self::TREE) {
                return [$this->decoded($text, false)];
            }
            $fields = $this->decoded($text, true);
            if ($only === self::WHOLE) {
                return [$fields];
            }
            $arguments = [];
            foreach ($parameters as $parameter) {
                $isGiven = self::wish($parameter) !== self::SERVICE
                    && \array_key_exists($parameter->getName(), $fields);
                if (!$isGiven && $parameter->isOptional()) {
                    if (!$parameter->isDefaultValueAvailable()) {
                        break; // variadic, or of a PHP function that keeps its defaults to itself
                    }
                    $arguments[] = $parameter->getDefaultValue();
                    continue;
                }
                $arguments[] = $this->field($parameter, $fields, $text);
            }
            return $arguments;
        }

        /**
         * Whether there can be a call at all, before the job is looked at: if that depended on the job, one job
         * could shut the topic's gate for all.
         */
        private function demandCallable(array $parameters): void
        {
            foreach ($parameters as $parameter) {
                if (!$parameter->isOptional() && self::wish($parameter) === self::SERVICE) {
                    throw new Missing(
                        'no job holds what parameter $' . $parameter->getName() . ' of ' . $this->name . ' asks for'
                    );
                }
            }
        }

        private function field(\ReflectionParameter $parameter, array $fields, string $text)
        {
            $name = $parameter->getName();
            if (!\array_key_exists($name, $fields)) {
                throw new Unfit('the job has no field "' . $name . '", which ' . $this->name . ' asks for');
            }
            return self::wish($parameter) === self::TREE ? $this->decoded($text, false)->$name : $fields[$name];
        }

        private function decoded(string $text, bool $asArrays)
        {
            $job = \json_decode($text, $asArrays);
            if (\json_last_error() !== \JSON_ERROR_NONE) {
                throw Unfit::forEver('PHP cannot decode the job: ' . \json_last_error_msg());
            }
            if (!\is_array($job) && !\is_object($job)) {
                throw Unfit::forEver('the job is not a JSON object');
            }
            return $job;
        }

        /** What a parameter of this type wants of a job. */
        private static function wish(\ReflectionParameter $parameter): string
        {
            $types = self::typeNames($parameter->getType());
            $wishes = [
                self::WHOLE => ['', 'mixed', 'array', 'iterable'],
                self::TREE => ['object', 'stdclass'],
                self::TEXT => ['string'],
                self::FIELD => ['int', 'float', 'bool', 'true', 'false', 'null'],
            ];
            foreach ($wishes as $wish => $names) {
                if (\array_intersect($names, $types) !== []) {
                    return $wish;
                }
            }
            return self::SERVICE;
        }

        private static function typeNames(?\ReflectionType $type): array
        {
            if ($type === null) {
                return [''];
            }
            if ($type instanceof \ReflectionNamedType) {
                return [\strtolower($type->getName())];
            }
            $names = [];
            foreach ($type instanceof \ReflectionUnionType ? $type->getTypes() : [] as $part) {
                $names = \array_merge($names, self::typeNames($part));
            }
            return $names;
        }
    }

    /**
     * Ends the request of a run: lets everything of the team's come to its end, and signs last.
     */
    final class Ending
    {
        /** How often we go behind shutdown functions that were registered by shutdown functions. */
        private const ROUNDS = 4;

        /** Bytes set aside for the verdict of a handler that used up its memory. */
        private const RESERVE = 65536;

        private const SUPERGLOBALS = [
            'GLOBALS', '_GET', '_POST', '_COOKIE', '_FILES', '_ENV', '_REQUEST', '_SERVER', '_SESSION',
        ];

        /** @var int */
        private $round = 0;

        /** @var int The process that signs: a child forked by the handler has no say. */
        private $pid;

        /** @var string|null */
        private $reserve;

        /** @var bool Whether the list of shutdown functions is open to us. */
        private $listed;

        /** @var bool */
        private $signed = false;

        /** @var Last|null Null until PHP destructs what is left. */
        private $last;

        public function __construct()
        {
            $this->pid = Php::pid();
            $this->reserve = \str_repeat("\0", self::RESERVE);
            $this->listed = $this->enlist();
        }

        /**
         * The shutdown function. It stands first in the list, so that it sees the fatal error before anybody clears
         * it, and then goes behind the others.
         */
        public function shutDown(): void
        {
            if ($this->isOver()) {
                return;
            }
            if ($this->round === 0) {
                $this->reserve = null;
                Php::unlimitedTime();
            }
            Run::noticeEnd();
            if (++$this->round <= self::ROUNDS && $this->enlist()) {
                return;
            }
            $this->finish();
        }

        /**
         * Last resort: an exit or an uncaught exception in a shutdown function or destructor has cost us our turn in
         * the list. Destructors still run then; after other fatal errors they do not, and the missing sign says it.
         */
        public function __destruct()
        {
            $this->last = new Last($this);
            if ($this->isOver()) {
                return;
            }
            Run::noticeEnd();
            if ($this->listed) {
                Run::exitedLate();
            }
            $this->finish();
        }

        /** The output callback behind the sign: PHP calls it when even static objects are destructed. */
        public function lastWord(string $output, int $phase): string
        {
            if (($phase & \PHP_OUTPUT_HANDLER_FINAL) === 0 || $this->pid !== Php::pid()) {
                return $output;
            }
            Run::noticeEnd();
            if ($this->isCutShort()) {
                Run::exitedLate();
            }
            return Run::isDone() ? $output : $output . Run::signature();
        }

        /**
         * Whether an exit kept PHP from calling all destructors: that of an object held by a static property leaves
         * no other trace. If code of the team's is running, it has ended our buffer itself, and the end is yet to come.
         */
        private function isCutShort(): bool
        {
            $isEnd = \count((new \RuntimeException())->getTrace()) === 2; // this and lastWord()
            return $isEnd && ($this->last === null || $this->last->isMissed());
        }

        private function enlist(): bool
        {
            if (!Php::has('register_shutdown_function')) {
                return false;
            }
            \register_shutdown_function([$this, 'shutDown']);
            return true;
        }

        private function isOver(): bool
        {
            return $this->signed || $this->pid !== Php::pid();
        }

        private function finish(): void
        {
            $this->dropGlobals();
            self::attempt('a destructor', static function (): void {
                if (Php::has('gc_collect_cycles')) {
                    \gc_collect_cycles();
                }
            });
            self::attempt('writing the session', static function (): void {
                if (Php::has('session_status') && \session_status() === \PHP_SESSION_ACTIVE) {
                    \session_write_close();
                }
            });
            self::attempt('an output buffer', static function (): void {
                self::endBuffers();
            });
            $this->signed = true;
            Run::sign();
            // Only now is a buffer of ours in nobody's way. It lets everything through at once.
            if (Run::isDone() && Php::has('ob_get_level') && \ob_get_level() === 0 && Php::has('ob_start')) {
                \ob_start([$this, 'lastWord'], 1);
            }
        }

        private static function attempt(string $what, callable $act): void
        {
            try {
                $act();
            } catch (\Throwable $thrown) {
                Run::spoil($what . ' threw: ' . $thrown->getMessage() . Trace::place($thrown), Trace::of($thrown));
            }
        }

        /** Objects first and the youngest first, as PHP does; what holds no object stays for destructors to read. */
        private function dropGlobals(): void
        {
            foreach (['is_object', 'is_array'] as $isKind) {
                foreach (\array_reverse(\array_keys($GLOBALS)) as $name) {
                    if (!\in_array($name, self::SUPERGLOBALS, true) && $isKind($GLOBALS[$name] ?? null)) {
                        self::attempt('a destructor', static function () use ($name): void {
                            unset($GLOBALS[$name]);
                        });
                    }
                }
            }
        }

        private static function endBuffers(): void
        {
            if (!Php::has('ob_get_level') || !Php::has('ob_get_status') || !Php::has('ob_end_flush')) {
                return;
            }
            while (\ob_get_level() > 0 && (\ob_get_status()['flags'] & \PHP_OUTPUT_HANDLER_REMOVABLE) !== 0) {
                \ob_end_flush();
            }
        }
    }

    /**
     * The object that PHP destructs last: it calls the destructors of what is left in the order of creation, and an
     * object that is created meanwhile comes behind all others.
     */
    final class Last
    {
        /** @var bool */
        private $missed;

        /** Before PHP 7.3 it may get the place of an object that is gone, where no destructor is called any more. */
        public function __construct(Ending $before)
        {
            $this->missed = Php::has('spl_object_id') && \spl_object_id($this) > \spl_object_id($before);
        }

        public function __destruct()
        {
            $this->missed = false;
        }

        public function isMissed(): bool
        {
            return $this->missed;
        }
    }

    /**
     * The one run of this request. Static, because the global scope that includes the team's code must not hold
     * anything of ours.
     */
    final class Run
    {
        private const SIGKILL = 9;
        private const ESRCH = 3;

        /** @var array|null */
        private static $order;

        /** @var Wire */
        private static $wire;

        /** @var Ending|null */
        private static $ending;

        /** @var Verdict|null Null until the run is over, one way or another. */
        private static $verdict;

        /** @var string */
        private static $text = '';

        /** @var bool */
        private static $booted = false;

        /** @var float */
        private static $startedAt = 0.0;

        /** @var float */
        private static $bootedAt = 0.0;

        /** Takes the order from the sidecar; true means that the team's code is to run now. */
        public static function begins(): bool
        {
            self::$order = self::takeOrder();
            if (self::$order === null) {
                if (Php::has('http_response_code')) {
                    \http_response_code(403);
                }
                echo "This file is run by the sidecar.\n";
                return false;
            }
            self::$wire = new Wire(self::$order['nonce'], self::$order['socket']);
            if (self::$order['mode'] === 'kill') {
                // Hello first: an order that was given up while it was queued must not hit what the child does by now.
                self::$verdict = self::$wire->hello()
                    ? self::kill((int) self::$order['pid'])
                    : Verdict::failed('the start could not be told to the sidecar');
            } else {
                self::$verdict = self::findFiles();
                if (self::$verdict === null && self::$order['mode'] === 'run') {
                    return self::prepare();
                }
            }
            self::$verdict = self::$verdict ?? Verdict::done();
            self::sign();
            return false;
        }

        public static function bootstrap(): string
        {
            return self::$order['bootstrap'];
        }

        public static function script(): string
        {
            return self::$order['script'];
        }

        /** The bootstrap is through: what happens from now on is the handler's. */
        public static function booted(): void
        {
            self::$booted = true;
            self::$bootedAt = self::now();
            if (self::$order['script'] !== '') {
                $job = \json_decode(self::$text, true);
                $GLOBALS['job'] = \is_array($job) ? $job : null;
                self::$text = '';
            }
        }

        public static function call()
        {
            return (new Call(self::$order['call']))->with(self::$text);
        }

        public static function returned($result): void
        {
            self::$verdict = Verdict::returned($result, self::$order['fail_on_false']);
        }

        public static function threw(\Throwable $thrown): void
        {
            self::$verdict = self::judge($thrown);
            if (self::$verdict->isFailed() && !$thrown instanceof Unfit) {
                self::tellTeam($thrown);
            }
        }

        /** Called at each look from the shutdown list: finds out how the run ended if it did not say so itself. */
        public static function noticeEnd(): void
        {
            $fatal = Php::fatalError();
            if ($fatal !== null) {
                self::makeRoom($fatal['message']);
                self::spoil(self::describeFatal($fatal));
            }
            self::$verdict = self::$verdict ?? self::exited();
        }

        /** Makes a success a failure; a failure keeps its first reason. */
        public static function spoil(string $why, string $trace = ''): void
        {
            if (self::$verdict === null || self::$verdict->isDone()) {
                self::$verdict = Verdict::failed($why, $trace);
            }
        }

        /** The list of shutdown functions came to an early end. */
        public static function exitedLate(): void
        {
            if (!self::$order['exit_ok']) {
                self::spoil('a shutdown function or destructor called exit');
            }
        }

        public static function sign(): void
        {
            $status = Php::has('http_response_code') ? (int) \http_response_code() : 0;
            if ($status >= 400) {
                self::spoil('the handler set HTTP status ' . $status);
            }
            self::$wire->sign(self::content());
        }

        public static function isDone(): bool
        {
            return self::$verdict !== null && self::$verdict->isDone();
        }

        public static function signature(): string
        {
            return self::$wire->signature(self::content());
        }

        private static function content(): array
        {
            $started = self::$startedAt > 0.0;
            $booted = self::$bootedAt > 0.0;
            return self::$verdict->toArray() + [
                'boot_ms' => $booted ? \round(self::$bootedAt - self::$startedAt, 3) : 0.0,
                'ms' => $started ? \round(self::now() - ($booted ? self::$bootedAt : self::$startedAt), 3) : 0.0,
                'mem' => Php::has('memory_get_peak_usage') ? \memory_get_peak_usage(true) : 0,
                'pid' => Php::pid(),
            ];
        }

        /**
         * Reads the order and removes it from the variables that code dumps and logs. FPM's getenv() still knows it:
         * the nonce keeps output from looking like a sign by accident, it guards nothing against the team itself.
         */
        private static function takeOrder(): ?array
        {
            $order = \json_decode((string) Php::param('SIDECAR_BRIDGE'), true);
            unset($_SERVER['SIDECAR_BRIDGE'], $_ENV['SIDECAR_BRIDGE']);
            if (!\is_array($order) || !\is_string($order['nonce'] ?? null) || $order['nonce'] === '') {
                return null;
            }
            return $order + [
                'mode' => 'check', 'call' => '', 'script' => '', 'bootstrap' => '', 'exit_ok' => false,
                'fail_on_false' => false, 'memory_limit' => '', 'socket' => '', 'pid' => 0,
            ];
        }

        /** Replaces script and bootstrap by their real paths; what is missing makes the run unavailable. */
        private static function findFiles(): ?Verdict
        {
            foreach (['bootstrap', 'script'] as $role) {
                $path = self::$order[$role];
                if ($path === '') {
                    continue;
                }
                $real = Php::quietly(static function () use ($path) {
                    $real = \realpath($path);
                    if ($real !== $path) { // a symlink: the cached target may be the release before
                        \clearstatcache(true);
                        $real = \realpath($path);
                    }
                    return $real !== false && \is_file($real) && \is_readable($real) ? $real : null;
                });
                if ($real === null) {
                    $why = Php::$warning === '' ? 'does not exist or cannot be read' : Php::$warning;
                    return Verdict::unavailable($role . ' ' . $path . ': ' . $why);
                }
                self::$order[$role] = $real;
            }
            return null;
        }

        private static function prepare(): bool
        {
            if (!self::$wire->hello()) {
                self::$verdict = Verdict::unavailable('the start could not be told to the sidecar');
                self::sign();
                return false;
            }
            Php::ignoreCutOff(true);
            self::$ending = new Ending();
            if (Php::has('error_clear_last')) {
                \error_clear_last();
            }
            self::undoFpm();
            self::describe();
            self::$startedAt = self::now();
            return self::readText();
        }

        /** Takes back what FPM adds to code that was written for the command line. */
        private static function undoFpm(): void
        {
            Php::unlimitedTime();
            Php::set('html_errors', '0');
            if (!\in_array(Php::ini('zlib.output_compression'), ['', '0'], true)) {
                Php::set('zlib.output_compression', '0');
            }
            if (self::$order['memory_limit'] !== '') {
                Php::set('memory_limit', self::$order['memory_limit']);
            }
        }

        /** $_SERVER and the working directory as if FPM had run the script itself. */
        private static function describe(): void
        {
            $timeout = (int) Php::param('SIDECAR_TIMEOUT_MS');
            $_SERVER['SIDECAR_DEADLINE_MS'] = (string) ((int) (\microtime(true) * 1000) + $timeout);
            $script = self::$order['script'];
            if ($script !== '') {
                $_SERVER['SCRIPT_FILENAME'] = $script;
                $_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/' . \basename($script);
                $_SERVER['DOCUMENT_ROOT'] = \dirname($script);
                if (Php::has('chdir')) {
                    Php::quietly(static function () use ($script) {
                        return \chdir(\dirname($script));
                    });
                }
            }
        }

        private static function readText(): bool
        {
            self::$text = (string) Php::read('php://input');
            $announced = Php::param('CONTENT_LENGTH');
            if ($announced === null || \strlen(self::$text) === (int) $announced) {
                return true;
            }
            self::$verdict = Verdict::failed(
                'PHP received ' . \strlen(self::$text) . ' of the job\'s ' . $announced . ' bytes: post_max_size is '
                . Php::ini('post_max_size')
            );
            return false;
        }

        private static function judge(\Throwable $thrown): Verdict
        {
            if ($thrown instanceof Missing) {
                return Verdict::unavailable($thrown->getMessage());
            }
            if ($thrown instanceof Unfit) {
                $why = $thrown->getMessage();
                return $thrown->forEver ? Verdict::rejected($why) : Verdict::failed($why);
            }
            if (!self::$booted) {
                return Verdict::failedAt('the bootstrap threw: ', $thrown);
            }
            if ($thrown instanceof \ParseError) {
                return Verdict::failedAt('', $thrown);
            }
            try {
                return Verdict::thrown($thrown);
            } catch (\Throwable $second) {
                return Verdict::failedAt('asked for its verdict, ' . \get_class($thrown) . ' threw: ', $second);
            }
        }

        /** The team's own exception handler has its say, whatever it does: the verdict stands already. */
        private static function tellTeam(\Throwable $thrown): void
        {
            if (!Php::has('set_exception_handler') || !Php::has('restore_exception_handler')) {
                return;
            }
            $handler = \set_exception_handler(null);
            \restore_exception_handler();
            if ($handler === null) {
                return;
            }
            try {
                $handler($thrown);
            } catch (\Throwable $second) {
                self::$verdict = self::$verdict->withNote(
                    'The exception handler threw: ' . $second->getMessage() . Trace::place($second)
                );
            }
        }

        private static function exited(): Verdict
        {
            if (!self::$booted) {
                return Verdict::failed('the bootstrap called exit');
            }
            if (Php::isCutOff() && Php::diesWhenCutOff()) {
                return Verdict::failed('the connection to the sidecar was lost and PHP ended the handler');
            }
            if (!Php::has('error_get_last')) {
                return Verdict::failed('the handler ended early; error_get_last is disabled, so nobody can say why');
            }
            return self::$order['exit_ok'] ? Verdict::done() : Verdict::failed('the handler called exit');
        }

        /** Text and place, once; the stack trace in it shows arguments. */
        private static function describeFatal(array $fatal): string
        {
            $text = \explode("\nStack trace:", $fatal['message'])[0];
            $place = ' in ' . $fatal['file'] . ':' . $fatal['line'];
            return \substr($text, -\strlen($place)) === $place ? $text : $text . $place;
        }

        /** After memory_limit was hit there is none left to write the verdict with. */
        private static function makeRoom(string $message): void
        {
            if (\strncmp($message, 'Allowed memory size', 19) === 0 && Php::has('memory_get_usage')) {
                Php::set('memory_limit', (string) (\memory_get_usage(true) + (16 << 20)));
            }
        }

        /** Kills a child of this pool that hangs in another request. */
        private static function kill(int $pid): Verdict
        {
            if ($pid <= 1 || $pid === Php::pid()) {
                return Verdict::failed('pid ' . $pid . ' is not to be killed');
            }
            if (!Php::has('posix_kill')) {
                return Verdict::failed('posix_kill is not available');
            }
            $mine = self::parent('self');
            $theirs = self::parent((string) $pid);
            if ($mine !== null && $theirs !== null && $mine !== $theirs) {
                return Verdict::failed('pid ' . $pid . ' is no child of this FPM');
            }
            // What /proc does not show although it shows us is gone, or another user's: then only signal 0 is sent.
            if (\posix_kill($pid, $mine !== null && $theirs === null ? 0 : self::SIGKILL)) {
                return $mine === $theirs ? Verdict::done() : Verdict::failed('pid ' . $pid . ' cannot be checked');
            }
            $code = Php::has('posix_get_last_error') ? \posix_get_last_error() : 0;
            return $code === self::ESRCH
                ? Verdict::done('pid ' . $pid . ' is gone')
                : Verdict::failed('pid ' . $pid . ' cannot be killed: error ' . $code);
        }

        /** The parent of a process, or null where /proc does not tell. */
        private static function parent(string $pid): ?string
        {
            $stat = Php::read('/proc/' . $pid . '/stat');
            // "pid (name) state parent ...", and the name may hold spaces and brackets
            return $stat !== null ? \explode(' ', \substr($stat, (int) \strrpos($stat, ')')))[2] : null;
        }

        private static function now(): float
        {
            return Php::has('hrtime') ? \hrtime(true) / 1e6 : \microtime(true) * 1e3;
        }
    }
}

namespace {

    // The team's files are included from here: this is the only place of the file that is in the global scope.
    if (\Sidecar\Bridge\Run::begins()) {
        try {
            if (\Sidecar\Bridge\Run::bootstrap() !== '') {
                require \Sidecar\Bridge\Run::bootstrap();
            }
            \Sidecar\Bridge\Run::booted();
            \Sidecar\Bridge\Run::returned(
                \Sidecar\Bridge\Run::script() !== ''
                    ? require \Sidecar\Bridge\Run::script()
                    : \Sidecar\Bridge\Run::call()
            );
        } catch (\Throwable $sidecarThrown) {
            \Sidecar\Bridge\Run::threw($sidecarThrown);
        }
    }
}
