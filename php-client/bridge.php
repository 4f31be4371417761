<?php

/**
 * The bridge: the one PHP file the sidecar runs through PHP-FPM.
 *
 * In mode request one FPM request is one job. The bridge says hello, loads the team's code unchanged, calls it, and at
 * the very end of the request prints the verdict in a line that only it can print. Success is that line, never the
 * absence of an error: what FPM answers after exit(1), a fatal error after flush() or a half-written body looks like
 * success. In mode worker one long request serves job after job over a connection of its own (Worker, below).
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

        /** Done, and nothing to say about it. */
        public function isPlain(): bool
        {
            return $this->verdict === self::DONE && $this->error === '' && $this->trace === '' && $this->delayMs === 0;
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
            if ($text === '') {
                return '';
            }
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

        /** @var bool|null */
        private static $hasHrtime;

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

        /** A clock for durations, in ms. */
        public static function now(): float
        {
            self::$hasHrtime = self::$hasHrtime ?? self::has('hrtime');
            return self::$hasHrtime ? \hrtime(true) / 1e6 : \microtime(true) * 1e3;
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

        /** @var string What only the sidecar and this object know; '' where the sidecar is too old to ask for it. */
        private $secret = '';

        public function __construct(string $nonce, string $socket, bool $secretly)
        {
            $this->nonce = $nonce;
            $this->socket = $socket;
            if ($secretly && Php::has('random_bytes')) {
                $this->secret = \bin2hex(\random_bytes(16));
            }
        }

        /**
         * Tells the sidecar that the run begins, and returns whether it is there to know. FPM runs queued requests
         * whose client has gone (FPM-FACTS 4): such a run ends here, in flush() or by the answer false.
         */
        public function hello(): bool
        {
            if (!$this->reachesClient()) {
                $words = $this->id() . ' ' . Php::pid() . ' ' . \PHP_VERSION;
                return $this->ask('HELLO ' . \rtrim($words . ' ' . $this->secret));
            }
            $secret = $this->secret === '' ? '' : ' secret=' . $this->secret;
            return self::says('sidecar-hello ' . $this->id() . ' pid=' . Php::pid() . $secret . ' php=' . \PHP_VERSION);
        }

        /** Whether the sidecar still waits for this request, as far as writing to it can tell. */
        public function findsClient(): bool
        {
            return !$this->reachesClient() || self::says('');
        }

        /** Says a line on STDERR; false, or the end of the script, if the client has gone. */
        private static function says(string $line): bool
        {
            Php::ignoreCutOff(false);
            // Twice: the first write to a TCP connection whose other end is closed succeeds and only brings the reset.
            foreach (['', $line] as $words) {
                \error_log($words, 4);
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

        /** The payload and its hash, which only the holder of nonce and secret can make. */
        private function words(array $content): string
        {
            $payload = \base64_encode(\json_encode($content, \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_UNESCAPED_SLASHES));
            return \hash('sha256', $this->nonce . $this->secret . ':' . $payload) . ' ' . $payload;
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

        /** @var \ReflectionFunctionAbstract|null Null until the handler was looked for. */
        private $handler;

        /** @var \ReflectionClass|null Of the object to call the method on, a new one for each job. */
        private $class;

        /** @var \ReflectionParameter[] */
        private $parameters = [];

        /** @var string[] What each parameter wants of a job. */
        private $wishes = [];

        /** @var bool */
        private $takesReference = false;

        public function __construct(string $name)
        {
            $this->name = \ltrim($name, '\\');
        }

        /** Calls the handler as PHP code without strict_types would: numeric strings become integers and so on. */
        public function with(string $text)
        {
            $this->find();
            $arguments = $this->values($text);
            if ($this->takesReference) {
                $arguments = self::references($arguments);
            }
            if (!$this->handler instanceof \ReflectionMethod) {
                return $this->handler->invokeArgs($arguments);
            }
            return $this->handler->invokeArgs($this->class ? $this->class->newInstance() : null, $arguments);
        }

        /** Looks for the handler, once; a Missing says what is not there. */
        public function find(): void
        {
            if ($this->handler !== null) {
                return;
            }
            $parts = \explode('::', $this->name, 2);
            $handler = \count($parts) === 1 ? $this->function($parts[0]) : $this->method($parts[0], $parts[1]);
            if ($handler instanceof \ReflectionMethod && !$handler->isStatic()) {
                $this->class = $this->instantiable($parts[0]);
            }
            foreach ($handler->getParameters() as $parameter) {
                $this->parameters[] = $parameter;
                $this->wishes[] = self::wish($parameter);
                $this->takesReference = $this->takesReference || $parameter->isPassedByReference();
            }
            $this->demandCallable();
            $this->handler = $handler;
        }

        private function function(string $name): \ReflectionFunction
        {
            if (!\function_exists($name)) {
                throw new Missing('function ' . $name . ' does not exist');
            }
            return new \ReflectionFunction($name);
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

        private function instantiable(string $name): \ReflectionClass
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
            return $class;
        }

        /** A handler may take its job by reference, and PHP warns of mere values. */
        private static function references(array $values): array
        {
            $references = [];
            foreach ($values as $value) {
                $references[] = &$value;
                unset($value);
            }
            return $references;
        }

        private function values(string $text): array
        {
            $only = \count($this->wishes) === 1 ? $this->wishes[0] : self::FIELD;
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
            foreach ($this->parameters as $i => $parameter) {
                $isGiven = $this->wishes[$i] !== self::SERVICE
                    && \array_key_exists($parameter->getName(), $fields);
                if (!$isGiven && $parameter->isOptional()) {
                    if (!$parameter->isDefaultValueAvailable()) {
                        break; // variadic, or of a PHP function that keeps its defaults to itself
                    }
                    $arguments[] = $parameter->getDefaultValue();
                    continue;
                }
                $arguments[] = $this->field($parameter, $this->wishes[$i], $fields, $text);
            }
            return $arguments;
        }

        /**
         * Whether there can be a call at all, before the job is looked at: if that depended on the job, one job
         * could shut the topic's gate for all.
         */
        private function demandCallable(): void
        {
            foreach ($this->parameters as $i => $parameter) {
                if (!$parameter->isOptional() && $this->wishes[$i] === self::SERVICE) {
                    throw new Missing(
                        'no job holds what parameter $' . $parameter->getName() . ' of ' . $this->name . ' asks for'
                    );
                }
            }
        }

        private function field(\ReflectionParameter $parameter, string $wish, array $fields, string $text)
        {
            $name = $parameter->getName();
            if (!\array_key_exists($name, $fields)) {
                throw new Unfit('the job has no field "' . $name . '", which ' . $this->name . ' asks for');
            }
            return $wish === self::TREE ? $this->decoded($text, false)->$name : $fields[$name];
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
     * What the sidecar wants of this request.
     */
    final class Order
    {
        /**
         * Reads the order and removes it from the variables that code dumps and logs. getenv() and filter_input() still
         * know it, since PHP has no way to take a parameter out of them. So it is worth nothing from the hello on: a sign
         * needs the secret, too, which was told to the sidecar then, and a worker's token is taken once only.
         */
        public static function take(): ?array
        {
            $order = \json_decode((string) Php::param('SIDECAR_BRIDGE'), true);
            unset($_SERVER['SIDECAR_BRIDGE'], $_ENV['SIDECAR_BRIDGE']);
            $nonce = $order['nonce'] ?? $order['token'] ?? null;
            if (!\is_array($order) || !\is_string($nonce) || $nonce === '') {
                return null;
            }
            return $order + [
                'nonce' => $nonce, 'mode' => 'check', 'call' => '', 'script' => '', 'bootstrap' => '',
                'exit_ok' => false, 'fail_on_false' => false, 'memory_limit' => '', 'socket' => '', 'pid' => 0,
                'secretly' => false, 'timeout_ms' => 0, 'frame_limit' => 32 << 20, 'output_limit' => 65536, 'max_jobs' => 0,
                'max_memory' => 0, 'routes' => false,
            ];
        }

        /** Replaces script and bootstrap by their real paths; what is missing makes the run unavailable. */
        public static function findFiles(array &$order): ?Verdict
        {
            try {
                foreach (['bootstrap', 'script'] as $role) {
                    $order[$role] = self::realPath($role, $order[$role]);
                }
            } catch (Missing $missing) {
                return Verdict::unavailable($missing->getMessage());
            }
            return null;
        }

        /** The real path of a file that can be included, '' of none. */
        public static function realPath(string $role, string $path): string
        {
            if ($path === '') {
                return '';
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
                throw new Missing($role . ' ' . $path . ': ' . $why);
            }
            return $real;
        }
    }

    /**
     * What the team's code finds around it.
     */
    final class Scene
    {
        /** Takes back what FPM adds to code that was written for the command line. */
        public static function undoFpm(string $memoryLimit): void
        {
            Php::unlimitedTime();
            Php::set('html_errors', '0');
            if (!\in_array(Php::ini('zlib.output_compression'), ['', '0'], true)) {
                Php::set('zlib.output_compression', '0');
            }
            if ($memoryLimit !== '') {
                Php::set('memory_limit', $memoryLimit);
            }
        }

        /** $_SERVER and the working directory as if FPM had run the script itself. */
        public static function describe(string $script): void
        {
            if ($script === '') {
                return;
            }
            foreach (self::server($script) as $name => $value) {
                $_SERVER[$name] = $value;
            }
            self::enter($script);
        }

        /** What $_SERVER says where FPM runs the script. */
        public static function server(string $script): array
        {
            $name = '/' . \basename($script);
            return [
                'SCRIPT_FILENAME' => $script, 'SCRIPT_NAME' => $name, 'PHP_SELF' => $name,
                'DOCUMENT_ROOT' => \dirname($script),
            ];
        }

        /** Goes to the script's directory. */
        public static function enter(string $script): void
        {
            if (Php::has('chdir')) {
                Php::quietly(static function () use ($script) {
                    return \chdir(\dirname($script));
                });
            }
        }

        /** When the sidecar will stop a run that begins now. */
        public static function deadline(int $timeoutMs): string
        {
            return (string) ((int) (\microtime(true) * 1000) + $timeoutMs);
        }
    }

    /**
     * Which verdict follows from how the team's code ended.
     */
    final class Judge
    {
        public static function ofThrown(\Throwable $thrown, bool $booted): Verdict
        {
            if ($thrown instanceof Missing) {
                return Verdict::unavailable($thrown->getMessage());
            }
            if ($thrown instanceof Unfit) {
                $why = $thrown->getMessage();
                return $thrown->forEver ? Verdict::rejected($why) : Verdict::failed($why);
            }
            if (!$booted) {
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
        public static function tellTeam(\Throwable $thrown, Verdict $verdict): Verdict
        {
            if (!$verdict->isFailed() || $thrown instanceof Unfit) {
                return $verdict;
            }
            if (!Php::has('set_exception_handler') || !Php::has('restore_exception_handler')) {
                return $verdict;
            }
            $handler = \set_exception_handler(null);
            \restore_exception_handler();
            if ($handler === null) {
                return $verdict;
            }
            try {
                $handler($thrown);
            } catch (\Throwable $second) {
                return $verdict->withNote(
                    'The exception handler threw: ' . $second->getMessage() . Trace::place($second)
                );
            }
            return $verdict;
        }

        /** For a run that ended without saying how. */
        public static function ofExit(bool $booted, bool $exitOk): Verdict
        {
            if (!$booted) {
                return Verdict::failed('the bootstrap called exit');
            }
            if (Php::isCutOff() && Php::diesWhenCutOff()) {
                return Verdict::failed('the connection to the sidecar was lost and PHP ended the handler');
            }
            if (!Php::has('error_get_last')) {
                return Verdict::failed('the handler ended early; error_get_last is disabled, so nobody can say why');
            }
            return $exitOk ? Verdict::done() : Verdict::failed('the handler called exit');
        }

        /** Text and place, once; the stack trace in it shows arguments. */
        public static function describeFatal(array $fatal): string
        {
            $text = \explode("\nStack trace:", $fatal['message'])[0];
            $place = ' in ' . $fatal['file'] . ':' . $fatal['line'];
            return \substr($text, -\strlen($place)) === $place ? $text : $text . $place;
        }

        /** After memory_limit was hit there is none left to write the verdict with. */
        public static function makeRoom(string $message): void
        {
            if (\strncmp($message, 'Allowed memory size', 19) === 0 && Php::has('memory_get_usage')) {
                Php::set('memory_limit', (string) (\memory_get_usage(true) + (16 << 20)));
            }
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
     * A script may return a callable instead of doing the work itself: that runs its jobs then.
     */
    final class Script
    {
        /** The callable, or null. Strings are none: whoever returns "date" means the word. */
        public static function callableIn($returned): ?callable
        {
            return !\is_string($returned) && \is_callable($returned) ? $returned : null;
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

        /** Takes the order from the sidecar and returns the mode in which the team's code is to run now, or ''. */
        public static function begins(): string
        {
            self::$order = Order::take();
            if (self::$order === null) {
                if (Php::has('http_response_code')) {
                    \http_response_code(403);
                }
                echo "This file is run by the sidecar.\n";
                return '';
            }
            $secretly = self::$order['mode'] === 'run' && self::$order['secretly'];
            self::$wire = new Wire(self::$order['nonce'], self::$order['socket'], $secretly);
            if (self::$order['mode'] === 'kill') {
                // Hello first: an order that was given up while it was queued must not hit what the child does by now.
                self::$verdict = self::$wire->hello()
                    ? self::kill((int) self::$order['pid'])
                    : Verdict::failed('the start could not be told to the sidecar');
            } elseif (self::$order['mode'] === 'worker') {
                self::$verdict = self::$wire->findsClient()
                    ? Worker::begins(self::$order)
                    : Verdict::unavailable('the client has gone');
                if (self::$verdict === null) {
                    return 'worker';
                }
            } else {
                self::$verdict = Order::findFiles(self::$order);
                if (self::$verdict === null && self::$order['mode'] === 'run') {
                    return self::prepare() ? 'run' : '';
                }
            }
            self::$verdict = self::$verdict ?? Verdict::done();
            self::sign();
            return '';
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
            self::$bootedAt = Php::now();
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

        /** What the script returned is the result, or what makes it. */
        public static function included($returned)
        {
            $callable = Script::callableIn($returned);
            return $callable === null ? $returned : $callable($GLOBALS['job'] ?? null, (string) Php::read('php://input'));
        }

        public static function returned($result): void
        {
            self::$verdict = Verdict::returned($result, self::$order['fail_on_false']);
        }

        public static function threw(\Throwable $thrown): void
        {
            self::$verdict = Judge::ofThrown($thrown, self::$booted);
            self::$verdict = Judge::tellTeam($thrown, self::$verdict);
        }

        /** Called at each look from the shutdown list: finds out how the run ended if it did not say so itself. */
        public static function noticeEnd(): void
        {
            $fatal = Php::fatalError();
            if ($fatal !== null) {
                Judge::makeRoom($fatal['message']);
                self::spoil(Judge::describeFatal($fatal));
            }
            self::$verdict = self::$verdict ?? Judge::ofExit(self::$booted, self::$order['exit_ok']);
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
                'ms' => $started ? \round(Php::now() - ($booted ? self::$bootedAt : self::$startedAt), 3) : 0.0,
                'mem' => Php::has('memory_get_peak_usage') ? \memory_get_peak_usage(true) : 0,
                'pid' => Php::pid(),
            ];
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
            Scene::undoFpm(self::$order['memory_limit']);
            $_SERVER['SIDECAR_DEADLINE_MS'] = Scene::deadline((int) Php::param('SIDECAR_TIMEOUT_MS'));
            Scene::describe(self::$order['script']);
            self::$startedAt = Php::now();
            return self::readText();
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
    }

    /**
     * Frames between a resident worker and the sidecar: u32 length of what follows, u8 type, body
     * (docs/worker-protocol.md).
     */
    final class Link
    {
        public const LEAST_READ = 8192;
        private const MOST_READ = 1 << 20;
        private const CONNECT_SECONDS = 5;
        private const GOODBYE_MICROSECONDS = 100000;

        /** @var resource */
        private $stream;

        /** @var int */
        private $limit;

        /** @var string */
        private $buffer = '';

        /** @var int Where the first frame that was not taken begins. */
        private $offset = 0;

        /** @var bool */
        private $closed = false;

        private function __construct($stream, int $limit)
        {
            $this->stream = $stream;
            $this->limit = $limit;
        }

        /** Connects, or returns null and leaves the reason in Php::$warning. */
        public static function open(string $address, int $limit): ?self
        {
            return Php::quietly(static function () use ($address, $limit): ?self {
                $context = \stream_context_create(['socket' => ['tcp_nodelay' => true]]);
                $flags = \STREAM_CLIENT_CONNECT;
                $stream = \stream_socket_client($address, $code, $why, self::CONNECT_SECONDS, $flags, $context);
                if (!\is_resource($stream)) {
                    return null;
                }
                \stream_set_blocking($stream, false);
                \stream_set_read_buffer($stream, 0);
                return new self($stream, $limit);
            });
        }

        public function isClosed(): bool
        {
            return $this->closed;
        }

        /** Sends one frame, in one write unless the sidecar is slow to read. */
        public function send(string $type, string $body): void
        {
            $frame = \pack('N', 1 + \strlen($body)) . $type . $body;
            if (!$this->closed && !\is_resource($this->stream)) {
                $this->closed = true;
                if (Php::has('error_log')) { // nobody else can tell
                    \error_log('the handler has closed the connection of its worker, so that its verdict is lost');
                }
            }
            while (!$this->closed) {
                $written = (int) \fwrite($this->stream, $frame);
                if ($written === \strlen($frame)) {
                    return;
                }
                if ($written === 0 && !$this->isWritable()) {
                    $this->closed = true;
                }
                $frame = \substr($frame, $written);
            }
        }

        /**
         * The next frame as [type, job id, header, body], or null if none is complete yet. What lies here without
         * having been taken counts as unread.
         */
        public function take(): ?array
        {
            while (!$this->closed) {
                $held = \strlen($this->buffer) - $this->offset;
                $length = $held >= 4 ? \unpack('N', $this->buffer, $this->offset)[1] : 1;
                if ($length > $this->limit || $length < 1) {
                    $this->closed = true; // who sends that is not the sidecar
                } elseif ($held >= 4 + $length) {
                    return $this->cut($length);
                } elseif (!$this->read(4 + $length - $held)) {
                    return null;
                }
            }
            return null;
        }

        /** The job whose frame has begun to arrive: what goes wrong while it does is its doing. */
        public function arriving(): int
        {
            $held = \strlen($this->buffer) - $this->offset;
            if ($held < 9 || $this->buffer[$this->offset + 4] !== 'J') {
                return 0;
            }
            ['length' => $length, 'id' => $id] = \unpack('Nlength/Ctype/Nid', $this->buffer, $this->offset);
            return $held < 4 + $length ? $id : 0;
        }

        /** Waits for something to read: true if there is, false if the time is up, null if a signal came. */
        public function wait(?float $seconds): ?bool
        {
            $read = [$this->stream];
            $none = null;
            $ready = $seconds === null
                ? \stream_select($read, $none, $none, null)
                : \stream_select($read, $none, $none, 0, (int) ($seconds * 1e6));
            return $ready === false ? null : $ready > 0;
        }

        /**
         * Leaves: says the last word and waits until it was taken. Closing with frames unread would reset the
         * connection, and over TCP a reset can overtake what was said.
         */
        public function close(): void
        {
            if (!\is_resource($this->stream)) {
                return;
            }
            \stream_socket_shutdown($this->stream, \STREAM_SHUT_WR);
            $deadline = \microtime(true) + self::GOODBYE_MICROSECONDS / 1e6;
            while (!\feof($this->stream) && \microtime(true) < $deadline) {
                $read = [$this->stream];
                $none = null;
                \stream_select($read, $none, $none, 0, self::GOODBYE_MICROSECONDS);
                \fread($this->stream, self::LEAST_READ);
            }
            \fclose($this->stream);
            $this->closed = true;
        }

        private function cut(int $length): array
        {
            $at = $this->offset + 4;
            $type = $this->buffer[$at];
            $id = 0;
            $header = '';
            $body = $at + 1;
            $end = $at + $length;
            if ($type === 'J') {
                ['id' => $id, 'header' => $size] = \unpack('Nid/nheader', $this->buffer, $body);
                $header = \substr($this->buffer, $body + 6, $size);
                $body += 6 + $size;
            }
            $frame = [$type, $id, $header, \substr($this->buffer, $body, $end - $body)];
            $this->offset = $end;
            if ($end === \strlen($this->buffer)) {
                $this->buffer = '';
                $this->offset = 0;
            }
            return $frame;
        }

        private function read(int $missing): bool
        {
            $bytes = \fread($this->stream, \max(self::LEAST_READ, \min($missing, self::MOST_READ)));
            if ($bytes === false || $bytes === '') {
                $this->closed = \feof($this->stream);
                return false;
            }
            if ($this->offset > 0) {
                $this->buffer = \substr($this->buffer, $this->offset);
                $this->offset = 0;
            }
            $this->buffer .= $bytes;
            return true;
        }

        private function isWritable(): bool
        {
            $write = [$this->stream];
            $none = null;
            \stream_select($none, $write, $none, null); // or a signal has come, and there is another look
            return !\feof($this->stream);
        }
    }

    /**
     * The listening socket of this FPM. A child that is to end finds another socket in its place (DESIGN 6.3):
     * nothing else tells a script of a graceful stop.
     */
    final class Listener
    {
        private const FDS = '/proc/self/fd/';
        private const LOOK_AT_MOST_EVERY_MS = 50.0;

        /** @var array<string, string> The sockets by their path below /proc; empty where it cannot be read. */
        private $links;

        /** @var float */
        private $lookedAt = 0.0;

        public function __construct()
        {
            $this->links = Php::has('readlink') && Php::has('scandir') ? (array) Php::quietly([self::class, 'find']) : [];
        }

        public function isKnown(): bool
        {
            return $this->links !== [];
        }

        /** Whether FPM wants this child to end. Looking costs system calls: soon after the last look it says no. */
        public function hasGoneBy(float $now): bool
        {
            if ($now - $this->lookedAt < self::LOOK_AT_MOST_EVERY_MS) {
                return false;
            }
            $this->lookedAt = $now;
            return $this->hasGone();
        }

        /** The same, looked at now; a signal has just come, so that not knowing means yes. */
        public function hasGoneBySignal(): bool
        {
            return !$this->isKnown() || $this->hasGone();
        }

        public static function find(): array
        {
            $open = [];
            foreach ((array) \scandir(self::FDS) as $fd) {
                $open[self::FDS . $fd] = (string) \readlink(self::FDS . $fd);
            }
            return \array_intersect($open, self::listening('unix')) ?: \array_intersect(
                $open,
                \array_merge(self::listening('tcp'), self::listening('tcp6'))
            );
        }

        private function hasGone(): bool
        {
            foreach ($this->links as $path => $link) {
                if (\readlink($path) !== $link) {
                    return true;
                }
            }
            return false;
        }

        /** The listening sockets of this network namespace, as /proc/self/fd names them. */
        private static function listening(string $family): array
        {
            $sockets = [];
            $pattern = $family === 'unix'
                ? '/^\S+: \S+ \S+ \S*1\d{4} \S+ \S+ +(\d+)/m'
                : '/^ *\d+: \S+ \S+ 0A \S+ \S+ \S+ +\d+ +\d+ (\d+)/m';
            \preg_match_all($pattern, (string) Php::read('/proc/net/' . $family), $found);
            foreach ($found[1] as $inode) {
                $sockets[] = 'socket:[' . $inode . ']';
            }
            return $sockets;
        }
    }

    /**
     * What the job in hand prints: kept up to a limit, counted beyond, and kept from the FastCGI connection, where it
     * would send the headers that the next job may want to set.
     */
    final class Output
    {
        private const CHUNK = 8192;

        /** @var int */
        private $limit;

        /** @var string */
        private $kept = '';

        /** @var int */
        private $size = 0;

        /** @var int The level of our buffer. */
        private $level = 0;

        /** @var bool Whether a buffer of the job's cannot be ended. */
        private $stuck = false;

        /** @var bool Whether the headers were sent before the first job: then that is how it is. */
        private $wasSent = false;

        public function __construct(int $limit)
        {
            $this->limit = $limit;
            $this->open();
        }

        /** The bootstrap is through. */
        public function booted(): void
        {
            $this->settle();
            $this->wasSent = !Php::has('headers_sent') || \headers_sent();
            if ($this->stuck) { // by the bootstrap, for good: ours goes on top
                $this->open();
                $this->stuck = false;
            }
        }

        /** The output callback. */
        public function keep(string $bytes): string
        {
            $room = $this->limit - \strlen($this->kept);
            if ($room > 0) {
                $this->kept .= \substr($bytes, 0, $room);
            }
            $this->size += \strlen($bytes);
            return '';
        }

        /** Ends the job's own buffers, as PHP does at the end of a script, and empties ours. */
        public function settle(): void
        {
            $level = \ob_get_level();
            while ($level > $this->level) {
                if (Php::has('ob_get_status') && (\ob_get_status()['flags'] & \PHP_OUTPUT_HANDLER_REMOVABLE) === 0) {
                    $this->stuck = true; // it holds what was printed to the end of the request
                    return;
                }
                \ob_end_flush();
                $level = \min($level - 1, \ob_get_level());
            }
            if ($level < $this->level) {
                $this->open(); // it was ended by the job
            } elseif (!$this->isOurs()) { // it was ended, and another one put in its place
                $held = \ob_get_clean();
                $this->stuck = $held === false;
                $this->open();
                echo $held;
                \ob_flush();
            } elseif (\ob_get_length() > 0) {
                \ob_flush();
            }
        }

        /** Whether the innermost buffer is ours, as far as can be told. */
        private function isOurs(): bool
        {
            return !Php::has('ob_get_status') || (\ob_get_status()['name'] ?? '') === self::class . '::keep';
        }

        public function isEmpty(): bool
        {
            return $this->size === 0;
        }

        /**
         * Whether the job has left what no other may find: a buffer that cannot be ended, or headers that are sent, so
         * that there are none to set any more, and no session to start.
         */
        public function isSpoilt(): bool
        {
            return $this->stuck || (!$this->wasSent && \headers_sent());
        }

        /** What was kept since the last time, and the size of all. */
        public function take(): array
        {
            $taken = $this->size === 0 ? [] : ['out' => \base64_encode($this->kept), 'out_size' => $this->size];
            $this->kept = '';
            $this->size = 0;
            return $taken;
        }

        private function open(): void
        {
            \ob_start([$this, 'keep'], self::CHUNK);
            $this->level = \ob_get_level();
        }
    }

    /**
     * The state of PHP that the bootstrap left and that every job finds: looked at after each job, put back if it is
     * another.
     */
    final class Footing
    {
        /** Readers and their writers. */
        private const KEPT = [
            'getcwd' => 'chdir',
            'date_default_timezone_get' => 'date_default_timezone_set',
            'mb_internal_encoding' => 'mb_internal_encoding',
            'error_reporting' => 'error_reporting',
        ];

        private const SETTINGS = [
            'memory_limit', 'max_execution_time', 'ignore_user_abort', 'display_errors', 'log_errors', 'error_log',
            'include_path', 'default_socket_timeout', 'precision', 'serialize_precision',
        ];

        private const TOO_MANY_HANDLERS = 100;

        /** @var callable Keeps what the bridge itself does from the team's error handler. */
        private $mute;

        /** @var callable|null */
        private $errorHandler;

        /** @var callable|null */
        private $exceptionHandler;

        /** @var array<string, mixed> */
        private $kept = [];

        /** @var array<string, string> */
        private $settings = [];

        /** @var string */
        private $locale = '';

        /** @var bool|null */
        private $libxml;

        /** @var array<int, array> */
        private $superglobals;

        /** @var array|null */
        private $session;

        /** @var array */
        private $server;

        public function __construct()
        {
            $this->mute = static function (): bool {
                return true;
            };
            $this->errorHandler = \set_error_handler($this->mute);
            $this->exceptionHandler = \set_exception_handler(null);
            \restore_exception_handler();
            foreach (self::KEPT as $reader => $writer) {
                if (Php::has($reader) && Php::has($writer)) {
                    $this->kept[$reader] = $reader();
                }
            }
            foreach (Php::has('ini_get') && Php::has('ini_set') ? self::SETTINGS : [] as $name) {
                $this->settings[$name] = (string) \ini_get($name);
            }
            $this->locale = Php::has('setlocale') ? (string) \setlocale(\LC_ALL, '0') : '';
            if (Php::has('libxml_use_internal_errors') && Php::has('libxml_clear_errors')) {
                $this->libxml = \libxml_use_internal_errors(false);
            }
            $this->session = $_SESSION ?? null;
            $this->superglobals = [$_GET, $_POST, $_COOKIE, $_FILES, $_REQUEST, $_ENV];
            $this->server = $_SERVER;
        }

        /** Lets the team's error handler see what happens from now on. */
        public function unmute(): void
        {
            \restore_error_handler();
        }

        /** From now on nothing raised is the team's. */
        public function mute(): void
        {
            if (\set_error_handler($this->mute) !== $this->errorHandler) {
                self::unwind('set_error_handler', 'restore_error_handler', $this->errorHandler);
                \set_error_handler($this->mute);
            }
        }

        /** Puts back what the job has changed. Muted. */
        public function restore(): void
        {
            foreach ($this->kept as $reader => $value) {
                if ($reader() !== $value) {
                    (self::KEPT[$reader])($value);
                }
            }
            foreach ($this->settings as $name => $value) {
                if ((string) \ini_get($name) !== $value) {
                    \ini_set($name, $value);
                }
            }
            if ($this->locale !== '' && \setlocale(\LC_ALL, '0') !== $this->locale) {
                \setlocale(\LC_ALL, $this->locale);
            }
            if ($this->libxml !== null && (\libxml_use_internal_errors($this->libxml) || $this->libxml)) {
                \libxml_clear_errors();
            }
            if (\set_exception_handler(null) === $this->exceptionHandler) {
                \restore_exception_handler();
            } else {
                self::unwind('set_exception_handler', 'restore_exception_handler', $this->exceptionHandler);
            }
            $this->forgetReply();
        }

        /** The superglobals as after the bootstrap, and $_SERVER with what it says of this job. */
        public function lay(array $job): void
        {
            [$_GET, $_POST, $_COOKIE, $_FILES, $_REQUEST, $_ENV] = $this->superglobals;
            if ($this->session !== null) {
                $_SESSION = $this->session;
            } else {
                unset($_SESSION); // it is there from the first session on, and after its end
            }
            $server = $this->server;
            foreach ($job as $name => $value) {
                $server[$name] = $value;
            }
            $_SERVER = $server;
        }

        private function forgetReply(): void
        {
            if (\headers_list() !== []) {
                \header_remove();
            }
            if (\http_response_code() !== 200) {
                \http_response_code(200);
            }
        }

        /** Takes off the handler just set and the job's below it; if the bootstrap's is gone too, it is set again. */
        private static function unwind(string $set, string $restore, ?callable $wanted): void
        {
            $restore();
            for ($i = 0; $i < self::TOO_MANY_HANDLERS; $i++) {
                $top = $set(null);
                $restore();
                if ($top === $wanted) {
                    return;
                }
                $restore();
            }
            $set($wanted);
        }
    }

    /**
     * What a script declares when it is included: doing so twice is a fatal error that no job is to blame for.
     */
    final class Declarations
    {
        private const NAMESPACE_BRACE = 'namespace {';

        /** @var int[] How many there were before, by the function that lists them. */
        private $before = [];

        public function __construct()
        {
            foreach (self::lists() as $kind => $names) {
                $this->before[$kind] = \count($names);
            }
        }

        /** Whether the file has declared something that it would declare again. */
        public function holdAnyOf(string $file): bool
        {
            foreach (self::lists() as $kind => $names) {
                foreach (\array_slice($names, $this->before[$kind]) as $name) {
                    $made = $kind === 'functions' ? new \ReflectionFunction($name) : new \ReflectionClass($name);
                    if ($made->getFileName() === $file) {
                        return !self::areAllInBlocks($file);
                    }
                }
            }
            return false;
        }

        private static function lists(): array
        {
            return [
                'functions' => \get_defined_functions()['user'],
                'classes' => \get_declared_classes(),
                'interfaces' => \get_declared_interfaces(),
                'traits' => \get_declared_traits(),
            ];
        }

        /** Whether the file declares only within braces, as "if (!function_exists(...)) { ... }" does. */
        private static function areAllInBlocks(string $file): bool
        {
            if (!Php::has('token_get_all')) {
                return false;
            }
            $depth = 0;
            $before = '';
            foreach (self::significant(\token_get_all((string) Php::read($file))) as [$token, $text]) {
                if ($before === 'function' && $token === \T_STRING && $depth <= 0) {
                    return false;
                }
                if ($depth <= 0 && $before !== 'new' && $before !== '::' && self::opensClass($text)) {
                    return false;
                }
                $depth = $token === self::NAMESPACE_BRACE
                    ? 0
                    : $depth + (\in_array($text, ['{', '${'], true) <=> ($text === '}'));
                if ($token !== '&') { // function &name()
                    $before = $before === 'use' && $text === 'function' ? '' : \strtolower($text);
                }
            }
            return true;
        }

        private static function opensClass(string $text): bool
        {
            return \in_array(\strtolower($text), ['class', 'interface', 'trait', 'enum'], true);
        }

        /** Tokens as [token, text], without space and comments. */
        private static function significant(array $tokens): array
        {
            $found = [];
            $inNamespace = false;
            foreach ($tokens as $token) {
                [$kind, $text] = \is_array($token) ? $token : [$token, $token];
                $kind = $inNamespace && $text === '{' ? self::NAMESPACE_BRACE : $kind;
                $inNamespace = $kind === \T_NAMESPACE || ($inNamespace && $text !== ';' && $text !== '{');
                if (!\in_array($kind, [\T_WHITESPACE, \T_COMMENT, \T_DOC_COMMENT, \T_INLINE_HTML], true)) {
                    $found[] = [$kind, $text];
                }
            }
            return $found;
        }
    }

    /**
     * The code that runs jobs of a resident worker: a call, or a script.
     */
    final class Target
    {
        /** @var string */
        private $script;

        /** @var Call|null */
        private $call;

        /** @var callable|null What the script returned to be called instead of being included again. */
        private $callable;

        /** @var Declarations|null What there was before the first include of the script. */
        private $declarations;

        /** @var int How often the script was included. */
        private $includes = 0;

        /** A script by its real path. */
        public function __construct(string $call, string $script)
        {
            $this->script = $script;
            if ($script === '') {
                $this->call = new Call($call);
            }
        }

        /** Looks for the handler of a call; a Missing says what is not there. */
        public function find(): void
        {
            if ($this->call !== null) {
                $this->call->find();
            }
        }

        public function isScript(): bool
        {
            return $this->script !== '';
        }

        public function script(): string
        {
            return $this->script;
        }

        /** Whether the next job is run by including the script. */
        public function includes(): bool
        {
            return $this->callable === null && $this->script !== '';
        }

        /** The script is about to be included. */
        public function begin(): void
        {
            $this->includes++;
            $this->declarations = $this->declarations ?? new Declarations();
        }

        /** A callable that the script returned is called from now on. */
        public function returned($value): bool
        {
            $this->callable = Script::callableIn($value);
            return $this->callable !== null;
        }

        public function run(string $text)
        {
            if ($this->callable === null) {
                return $this->call->with($text);
            }
            $job = \json_decode($text, true);
            return ($this->callable)(\is_array($job) ? $job : null, $text);
        }

        /** Whether the script cannot be included once more. */
        public function isUsedUp(): bool
        {
            return $this->includes === 1 && $this->declarations->holdAnyOf($this->script);
        }
    }

    /**
     * A resident worker: one request of FPM that serves one job after another over a connection of its own
     * (docs/worker-protocol.md). Static for the same reason as Run.
     */
    final class Worker
    {
        private const VERSION = 1;
        private const RESERVE = 65536;
        private const LOOK_AROUND_SECONDS = 0.25;
        private const REARM_AFTER_MS = 500.0;
        private const GARBAGE = 8 << 20;
        private const TIDY_ATTEMPTS = 20;

        /** Without these there is no worker; what else is missing costs only what it is for. */
        private const NEEDED = [
            'stream_socket_client', 'stream_context_create', 'stream_select', 'stream_set_blocking',
            'stream_set_read_buffer', 'stream_socket_shutdown', 'fread', 'fwrite', 'feof', 'fclose', 'ob_start',
            'ob_get_level', 'ob_get_length', 'ob_flush', 'ob_end_flush', 'set_error_handler', 'restore_error_handler',
            'set_exception_handler', 'restore_exception_handler', 'register_shutdown_function', 'headers_list',
            'header_remove', 'http_response_code', 'memory_get_usage', 'flush', 'error_clear_last', 'error_get_last',
        ];

        /** @var array */
        private static $order;

        /** @var Link */
        private static $link;

        /** @var Listener */
        private static $fpm;

        /** @var Output */
        private static $output;

        /** @var Footing|null Null until the bootstrap is through. */
        private static $footing;

        /** @var Target|null What runs the job in hand; null where that was not found. */
        private static $target;

        /** @var array<string, Target> Where jobs name what runs them: those that were named so far. */
        private static $targets = [];

        /** @var Missing|null Why there is no target. Another worker may find one: autoloaders remember in vain. */
        private static $missing;

        /** @var string[] Global variables that are not a script's: the bootstrap left them, or a call. */
        private static $globals = [];

        /** @var bool Whether a call has run since they were listed. */
        private static $called = false;

        /** @var bool Whether the job in hand is run by including the script. */
        private static $includes = false;

        /** @var bool Whether the job in hand is a script's, included or by the callable that it returned. */
        private static $isScript = false;

        /** @var bool Whether each job names what runs it. */
        private static $routes = false;

        /** @var int What a job may take that does not say. */
        private static $usualMs = 0;

        /** @var int What the CPU time is limited for; -1: that is to be set anew. */
        private static $armedMs = 0;

        /** @var int The job in hand, or 0. */
        private static $job = 0;

        /** @var string */
        private static $text = '';

        /** @var Verdict|null Of the job in hand. */
        private static $verdict;

        /** @var float */
        private static $startedAt = 0.0;

        /** @var float When the limit on CPU time was set last. */
        private static $armedAt = 0.0;

        /** @var int Jobs answered. */
        private static $jobs = 0;

        /** @var int The memory in use at which garbage is collected again. */
        private static $garbageAt = 0;

        /** @var bool Whether garbage was collected since the last job. */
        private static $rested = true;

        /** @var int The process that speaks: a child forked by a handler has no say. */
        private static $pid = 0;

        /** @var bool */
        private static $canFork = false;

        /** @var bool */
        private static $hasSessions = false;

        /** @var string|null */
        private static $reserve;

        /** @var bool Nothing more is to be said. */
        private static $over = false;

        /** Connects and says hello; a verdict means that there will be no worker. */
        public static function begins(array $order): ?Verdict
        {
            foreach (self::NEEDED as $function) {
                if (!Php::has($function)) {
                    return Verdict::unavailable('mode = "worker" needs ' . $function . '(), which is disabled');
                }
            }
            self::$order = $order;
            self::$routes = (bool) $order['routes'];
            self::$usualMs = (int) $order['timeout_ms'];
            $link = Link::open($order['socket'], (int) $order['frame_limit']);
            if ($link === null) {
                return Verdict::unavailable('cannot connect to ' . $order['socket'] . ': ' . Php::$warning);
            }
            self::$link = $link;
            self::$pid = Php::pid();
            self::$canFork = Php::has('pcntl_fork');
            self::$hasSessions = Php::has('session_status');
            self::$reserve = \str_repeat("\0", self::RESERVE);
            \register_shutdown_function([self::class, 'shutDown']);
            Php::ignoreCutOff(true);
            self::$fpm = new Listener();
            self::hello();
            self::prepare();
            return null;
        }

        public static function bootstrap(): string
        {
            return self::$over ? '' : self::$order['bootstrap'];
        }

        public static function script(): string
        {
            return self::$target->script();
        }

        /** Whether the job in hand is run by including the script. */
        public static function includes(): bool
        {
            return self::$includes;
        }

        /** The bootstrap is through: what it left is what each job finds. */
        public static function booted(): void
        {
            if (self::$over) {
                return;
            }
            if (!self::$routes) {
                $target = new Target(self::$order['call'], self::$order['script']);
                $target->find();
                self::aim($target);
            }
            self::$globals = \array_keys($GLOBALS);
            self::arm(self::$usualMs);
            $bootMs = \round(Php::now() - self::$startedAt, 3);
            self::$output->booted();
            self::$footing = new Footing();
            $ready = ['boot_ms' => $bootMs, 'mem' => \memory_get_usage()];
            self::$link->send('R', self::json($ready + self::$output->take()));
            self::collect();
        }

        /** Answers for the job in hand, if there is one, and waits for the next; false means to leave. */
        public static function takesJob(): bool
        {
            if (self::$job !== 0) {
                self::settle();
            }
            $why = self::$over ? '' : self::reasonToLeave();
            while ($why === '' && !self::$over) {
                $frame = self::frame();
                switch ($frame[0]) {
                    case 'J':
                        self::start($frame);
                        return true;
                    case 'C':
                        self::$link->send('P', $frame[3]);
                        break;
                    case 'E':
                        $why = 'end';
                        break;
                    case 'fpm_stop':
                        $why = 'fpm_stop';
                        break;
                    case '':
                        self::$over = true; // the sidecar has gone
                        break;
                }
            }
            self::leave($why);
            return false;
        }

        public static function call()
        {
            if (self::$target === null) {
                throw self::$missing;
            }
            return self::$target->run(self::$text);
        }

        /** What the script returned is the result, or what makes it: a callable is called, now and from now on. */
        public static function included($returned)
        {
            if (!self::$target->returned($returned)) {
                return $returned;
            }
            self::$includes = false;
            return self::call();
        }

        public static function returned($result): void
        {
            self::$verdict = Verdict::returned($result, self::$order['fail_on_false']);
        }

        public static function threw(\Throwable $thrown): void
        {
            self::$verdict = Judge::ofThrown($thrown, self::$footing !== null);
            if ($thrown instanceof Missing) {
                self::$missing = $thrown;
            }
            if (self::$footing === null) {
                Php::quietly([self::class, 'dead']);
                return;
            }
            self::$verdict = Judge::tellTeam($thrown, self::$verdict);
        }

        /** The shutdown function: if it was not the worker's own decision to end, says what became of the job in hand. */
        public static function shutDown(): void
        {
            if (self::$over || self::$pid !== Php::pid()) {
                return;
            }
            self::$reserve = null;
            Php::unlimitedTime();
            $fatal = Php::fatalError();
            if ($fatal !== null) {
                Judge::makeRoom($fatal['message']);
                self::spoil(Judge::describeFatal($fatal) . self::hint($fatal['message']));
                self::$job = self::$job ?: self::$link->arriving();
            } elseif (self::$verdict === null) {
                self::$verdict = Judge::ofExit(self::$footing !== null, self::$order['exit_ok']);
            } elseif (!self::$order['exit_ok']) {
                self::spoil('a destructor or output buffer called exit');
            }
            self::judgeStatus();
            Php::quietly([self::class, 'dead']);
        }

        /** Sends the last verdict of a worker that has come to a bad end. */
        public static function dead(): void
        {
            self::$over = true;
            self::$output->settle();
            \flush();
            self::$link->send('D', \pack('N', self::$job) . self::json(self::content()));
            self::$link->close();
        }

        private static function hello(): void
        {
            $token = self::$order['nonce'];
            self::$link->send('H', self::json([
                'v' => self::VERSION,
                'id' => \substr(\hash('sha256', 'worker:' . $token), 0, 16),
                'auth' => \hash('sha256', $token . ':hello'),
                'pid' => self::$pid,
                'php' => \PHP_VERSION,
                'mem' => \memory_get_usage(),
            ]));
        }

        private static function prepare(): void
        {
            self::$startedAt = Php::now();
            Scene::undoFpm(self::$order['memory_limit']);
            $room = \intdiv(self::$order['frame_limit'] * 3, 4) - self::RESERVE; // in base64, beside the rest
            self::$output = new Output((int) \max(0, \min(self::$order['output_limit'], $room)));
            \header_remove();
            self::$verdict = Order::findFiles(self::$order);
            if (self::$verdict !== null) {
                self::dead();
                return;
            }
            $_SERVER['SIDECAR_TIMEOUT_MS'] = (string) self::$order['timeout_ms'];
            Scene::describe(self::$order['script']);
        }

        /** The next frame; 'fpm_stop' in place of its type if FPM wants this child back, '' if the sidecar has gone. */
        private static function frame(): array
        {
            while (true) {
                if (self::$fpm->hasGoneBy(Php::now())) {
                    return ['fpm_stop'];
                }
                $frame = self::$link->take();
                if ($frame !== null) {
                    return $frame;
                }
                if (self::$link->isClosed()) {
                    return [''];
                }
                // A signal just before the wait is seen at the next look; without looks, waking would only miss more.
                $wakes = self::$fpm->isKnown() || !self::$rested;
                $ready = self::$link->wait($wakes ? self::LOOK_AROUND_SECONDS : null);
                if ($ready === null && self::$fpm->hasGoneBySignal()) {
                    return ['fpm_stop'];
                }
                if ($ready === false && !self::$rested) {
                    self::$rested = true;
                    self::collect();
                }
            }
        }

        private static function start(array $frame): void
        {
            [, self::$job, $header, self::$text] = $frame;
            $header = \json_decode($header, true);
            $now = \microtime(true);
            self::$verdict = null;
            self::$rested = false;
            $timeoutMs = $header['timeout_ms'] ?? self::$usualMs;
            $server = [
                'SIDECAR_UUID' => (string) ($header['uuid'] ?? ''),
                'SIDECAR_TRIES' => (string) ($header['tries'] ?? 0),
                'SIDECAR_CRASHES' => (string) ($header['crashes'] ?? 0),
                'SIDECAR_DEADLINE_MS' => (string) ((int) ($now * 1000) + $timeoutMs),
                'REQUEST_TIME' => (int) $now,
                'REQUEST_TIME_FLOAT' => $now,
            ];
            foreach (['HTTP_TRACEPARENT' => 'traceparent', 'HTTP_TRACESTATE' => 'tracestate'] as $name => $field) {
                if (isset($header[$field])) {
                    $server[$name] = (string) $header[$field];
                }
            }
            if (self::$routes) {
                $server += self::goTo((string) ($header['call'] ?? ''), (string) ($header['script'] ?? ''));
                $server['SIDECAR_TIMEOUT_MS'] = (string) $timeoutMs;
            }
            self::$footing->lay($server);
            if (self::$includes) {
                self::$target->begin();
                $GLOBALS['job'] = self::decoded();
            }
            \error_clear_last();
            self::$startedAt = Php::now();
            if ($timeoutMs !== self::$armedMs || self::$startedAt - self::$armedAt > self::REARM_AFTER_MS) {
                self::arm($timeoutMs);
            }
            self::$footing->unmute();
        }

        private static function aim(?Target $target): void
        {
            self::$target = $target;
            self::$isScript = $target !== null && $target->isScript();
            self::$includes = $target !== null && $target->includes();
        }

        /** Makes what the job names its target, and returns what $_SERVER says of it. */
        private static function goTo(string $call, string $script): array
        {
            $name = $call . $script; // one of them is ''
            self::aim(null);
            try {
                self::$targets[$name] = self::$targets[$name]
                    ?? new Target($call, Order::realPath('script', $script));
            } catch (Missing $missing) {
                self::$missing = $missing;
                return [];
            }
            self::aim(self::$targets[$name]);
            if (!self::$isScript) {
                self::$called = true;
                return [];
            }
            if (self::$called) { // what calls keep in global variables is not the script's to lose
                self::$globals = \array_unique(\array_merge(self::$globals, \array_keys($GLOBALS)));
                self::$called = false;
            }
            Scene::enter(self::$target->script());
            return Scene::server(self::$target->script());
        }

        /** The job is over: everything of its own goes, then its verdict. */
        private static function settle(): void
        {
            if (self::$canFork && self::$pid !== Php::pid()) {
                self::$over = true; // a fork of the handler's that came back
                return;
            }
            self::$text = '';
            self::tidy();
            self::judgeStatus();
            $answer = self::answer();
            self::$footing->mute();
            self::$footing->restore();
            if (self::$armedMs !== self::$usualMs) {
                self::$armedMs = -1; // max_execution_time has been put back
            }
            \flush(); // what went to STDERR arrives before the verdict
            self::$link->send('V', \pack('N', self::$job) . $answer);
            self::$job = 0;
            self::$jobs++;
        }

        /** Lets what is the job's come to its end; each attempt that throws has got rid of what threw. */
        private static function tidy(): void
        {
            for ($i = 0; $i < self::TIDY_ATTEMPTS; $i++) {
                try {
                    if (self::$isScript) {
                        self::dropGlobals();
                    }
                    if (self::$hasSessions && \session_id() !== '') {
                        self::endSession();
                    }
                    self::$output->settle();
                    return;
                } catch (\Throwable $thrown) {
                    self::spoil('a destructor or output buffer threw: ' . $thrown->getMessage()
                        . Trace::place($thrown), Trace::of($thrown));
                }
            }
        }

        /** Ends the job's session. One that it closed itself would be opened again by the next job: it has an id still. */
        private static function endSession(): void
        {
            if (\session_status() === \PHP_SESSION_ACTIVE) {
                \session_write_close();
            }
            \session_id('');
        }

        /** Global variables that the script has made, the youngest first as PHP does. */
        private static function dropGlobals(): void
        {
            foreach (\array_reverse(\array_keys($GLOBALS)) as $name) {
                if (!\in_array($name, self::$globals, true)) {
                    unset($GLOBALS[$name]);
                }
            }
        }

        private static function content(): array
        {
            $content = self::$verdict->toArray();
            $content['ms'] = \round(Php::now() - self::$startedAt, 3);
            $content['mem'] = \memory_get_usage();
            return $content + self::$output->take();
        }

        /** The verdict as JSON. The usual one is put together by hand: encoding it takes longer than all the rest. */
        private static function answer(): string
        {
            if (!self::$verdict->isPlain() || !self::$output->isEmpty()) {
                return self::json(self::content());
            }
            $microseconds = (int) ((Php::now() - self::$startedAt) * 1e3);
            return '{"v":"done","error":"","trace":"","delay_ms":0,"ms":' . $microseconds . 'e-3,"mem":'
                . \memory_get_usage() . '}';
        }

        private static function judgeStatus(): void
        {
            $status = (int) \http_response_code();
            if ($status >= 400) {
                self::spoil('the handler set HTTP status ' . $status);
            }
        }

        private static function spoil(string $why, string $trace = ''): void
        {
            if (self::$verdict === null || self::$verdict->isDone()) {
                self::$verdict = Verdict::failed($why, $trace);
            }
        }

        /** What to do about a file that declares something and is included by each job. */
        private static function hint(string $message): string
        {
            $isSecond = self::$jobs > 0 && \preg_match('/^Cannot (re)?declare /', $message) === 1;
            return $isSecond ? ' (included once more by another job of this worker: use require_once)' : '';
        }

        private static function reasonToLeave(): string
        {
            if (self::$jobs === 0) {
                return '';
            }
            if (self::$missing !== null) {
                return 'missing';
            }
            if (self::$includes && self::$target->isUsedUp()) {
                return 'redeclare';
            }
            if (self::$order['max_jobs'] > 0 && self::$jobs >= self::$order['max_jobs']) {
                return 'max_jobs';
            }
            if (self::$output->isSpoilt()) {
                return 'spoilt';
            }
            if (\memory_get_usage() > self::$garbageAt) {
                self::collect();
            }
            if (self::$order['max_memory'] > 0 && \memory_get_usage(true) > self::$order['max_memory']) {
                self::collect();
                return \memory_get_usage(true) > self::$order['max_memory'] ? 'max_memory' : '';
            }
            return '';
        }

        /** Collects cycles and notes when to do so again. PHP does it too, but counts objects and not their bytes. */
        private static function collect(): void
        {
            self::$footing->unmute();
            if (Php::has('gc_collect_cycles')) {
                \gc_collect_cycles();
            }
            if (Php::has('gc_mem_caches')) {
                \gc_mem_caches();
            }
            self::$garbageAt = \memory_get_usage() + self::GARBAGE;
            self::$footing->mute();
        }

        private static function leave(string $why): void
        {
            if ($why !== '') {
                self::$link->send('B', self::json(['why' => $why, 'jobs' => self::$jobs]));
                self::$link->close();
            }
            if (self::$footing !== null) {
                self::$footing->unmute(); // for the team's shutdown functions
            }
            self::$over = true;
        }

        /** Gives the job its budget of CPU time, with half a second to spare. */
        private static function arm(int $ms): void
        {
            self::$armedAt = Php::now();
            self::$armedMs = $ms;
            if ($ms > 0 && Php::has('set_time_limit')) {
                \set_time_limit((int) \ceil($ms / 1000) + 1);
            }
        }

        private static function decoded(): ?array
        {
            $job = \json_decode(self::$text, true);
            return \is_array($job) ? $job : null;
        }

        private static function json(array $content): string
        {
            return \json_encode($content, \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_UNESCAPED_SLASHES);
        }
    }
}

namespace {

    // The team's files are included from here: this is the only place of the file that is in the global scope.
    switch (\Sidecar\Bridge\Run::begins()) {
        case 'run':
            try {
                if (\Sidecar\Bridge\Run::bootstrap() !== '') {
                    require \Sidecar\Bridge\Run::bootstrap();
                }
                \Sidecar\Bridge\Run::booted();
                \Sidecar\Bridge\Run::returned(
                    \Sidecar\Bridge\Run::script() !== ''
                        ? \Sidecar\Bridge\Run::included(require \Sidecar\Bridge\Run::script())
                        : \Sidecar\Bridge\Run::call()
                );
            } catch (\Throwable $sidecarThrown) {
                \Sidecar\Bridge\Run::threw($sidecarThrown);
            }
            break;
        case 'worker':
            try {
                if (\Sidecar\Bridge\Worker::bootstrap() !== '') {
                    require \Sidecar\Bridge\Worker::bootstrap();
                }
                \Sidecar\Bridge\Worker::booted();
            } catch (\Throwable $sidecarThrown) {
                \Sidecar\Bridge\Worker::threw($sidecarThrown);
            }
            while (\Sidecar\Bridge\Worker::takesJob()) {
                try {
                    \Sidecar\Bridge\Worker::returned(
                        \Sidecar\Bridge\Worker::includes()
                            ? \Sidecar\Bridge\Worker::included(require \Sidecar\Bridge\Worker::script())
                            : \Sidecar\Bridge\Worker::call()
                    );
                } catch (\Throwable $sidecarThrown) {
                    \Sidecar\Bridge\Worker::threw($sidecarThrown);
                    unset($sidecarThrown); // it holds the arguments of the calls, which belong to the job
                }
            }
            break;
    }
}
