<?php

declare(strict_types=1);

namespace Sidecar\Tests;

use PHPUnit\Framework\TestCase;

/**
 * The package runs on PHP 7.2, which is not at hand: so nothing in it may be newer, neither syntax nor functions.
 *
 * This reads tokens, it does not parse: what it knows of is below.
 */
final class SyntaxTest extends TestCase
{
    private const NEWER_TOKENS = [
        'T_FN' => 'an arrow function (7.4)',
        'T_COALESCE_EQUAL' => '??= (7.4)',
        'T_MATCH' => 'match (8.0)',
        'T_NULLSAFE_OBJECT_OPERATOR' => '?-> (8.0)',
        'T_ATTRIBUTE' => 'an attribute (8.0)',
        'T_ENUM' => 'an enum (8.1)',
        'T_READONLY' => 'readonly (8.1)',
    ];
    private const NEWER_FUNCTIONS = [
        'array_is_list', 'array_key_first', 'array_key_last', 'fdiv', 'get_debug_type', 'get_mangled_object_vars', 'hrtime',
        'is_countable', 'json_validate', 'mb_str_split', 'password_algos', 'str_contains', 'str_ends_with',
        'str_starts_with', 'array_find', 'array_any', 'array_all',
    ];
    private const TYPE = '(?:\?|array|callable|static|self|[\w\\\\]+)(?:[\w\\\\]|\|)*';

    /**
     * @dataProvider files
     */
    public function testNothingIsNewerThanPhp72(string $file): void
    {
        self::assertSame([], self::newer((string) \file_get_contents($file)), $file);
    }

    public static function files(): array
    {
        $root = \dirname(__DIR__);
        $files = [[$root . '/autoload.php'], [$root . '/bridge.php'], [$root . '/spool.php'], [$root . '/doctor.php']];
        foreach (['src', 'examples'] as $directory) {
            foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($root . '/' . $directory)) as $file) {
                if ($file->getExtension() === 'php') {
                    $files[] = [$file->getPathname()];
                }
            }
        }
        return $files;
    }

    /**
     * @dataProvider snippets
     */
    public function testWhatIsNewerIsFound(string $code, string $found): void
    {
        self::assertSame([$found], self::newer('<?php ' . $code));
    }

    public static function snippets(): array
    {
        return [
            ['$f = fn() => 1;', 'an arrow function (7.4)'],
            ['$a ??= 1;', '??= (7.4)'],
            ['$a = match(1) { 1 => 2 };', 'match (8.0)'],
            ['$a?->b();', '?-> (8.0)'],
            ['#[Pure] function f() {}', 'an attribute (8.0)'],
            ['class A { private int $a; }', 'a typed property (7.4)'],
            ['class A { private static ?A $a = null; }', 'a typed property (7.4)'],
            ['class A { public function __construct(private $a) {} }', 'a promoted parameter (8.0)'],
            ['f(a: 1);', 'a named argument (8.0)'],
            ['f(1, 2, );', 'a comma at the end of a call (7.3)'],
            ['function f(int|float $a) {}', 'a union type (8.0)'],
            ['function f(): int|float {}', 'a union type (8.0)'],
            ['function f(mixed $a) {}', 'mixed (8.0)'],
            ['function f(): static {}', 'static as a type (8.0)'],
            ['function f(): never {}', 'never (8.1)'],
            ['try {} catch (\Exception) {}', 'catch without a variable (8.0)'],
            ['[...$a, 1];', 'an unpacked array (7.4)'],
            ['[$a, &$b] = $c;', 'a reference in a list (7.3)'],
            ['$a = $b ?: throw new \Exception();', 'throw as an expression (8.0)'],
            ['$a = 1_000;', 'an underscore in a number (7.4)'],
            ['$a = f(...);', 'a function as a value (8.1)'],
            ['\hrtime(true);', 'hrtime()'],
            ['str_contains("a", "b");', 'str_contains()'],
            ['json_encode($a, \JSON_THROW_ON_ERROR);', 'JSON_THROW_ON_ERROR (7.3)'],
        ];
    }

    public function testWhatIsOldEnoughIsNot(): void
    {
        self::assertSame([], self::newer(<<<'PHP'
<?php
final class A { const B = 1; private $a = [1, 2,]; /** @var int|float */ public static $b;
    public function f(?int $x = null, self ...$more): ?array { return [1 ? $x : $more, $x ? a : b]; }
    public function g($m) { switch ($m) { case A::B: return $this->f(...$m); default: return $this->match ?? null; } }
    public function hrtime() { [$a, [$b]] = $c; list($a) = $c; try { $this->hrtime(); } catch (A | B $e) { } }
}
$f = static function (array $x) use (&$y): void { };
PHP
        ));
    }

    /** @return string[] what is too new in this code, each once */
    private static function newer(string $code): array
    {
        $found = [];
        $plain = '';
        foreach (\token_get_all($code) as $token) {
            [$id, $text] = \is_array($token) ? $token : [0, $token];
            $name = $id === 0 ? '' : \token_name($id);
            $found[] = self::NEWER_TOKENS[$name] ?? '';
            if ($name === 'T_LNUMBER' && \strpos($text, '_') !== false) {
                $found[] = 'an underscore in a number (7.4)';
            }
            $skip = ['T_COMMENT', 'T_DOC_COMMENT', 'T_OPEN_TAG', 'T_INLINE_HTML'];
            if (\in_array($name, ['T_CONSTANT_ENCAPSED_STRING', 'T_ENCAPSED_AND_WHITESPACE'], true)) {
                $text = "''";
            }
            $plain .= \in_array($name, $skip, true) ? '' : ($name === 'T_WHITESPACE' ? ' ' : $text);
        }
        $plain = (string) \preg_replace('/catch ?\([^()$]*\$\w+ ?\)/', 'catch', $plain);
        foreach (self::patterns() as $pattern => $what) {
            if (\preg_match($pattern, $plain) === 1) {
                $found[] = $what;
            }
        }
        foreach (self::NEWER_FUNCTIONS as $function) {
            $asked = \preg_match('/(?:function_exists|has)\(.' . $function . '.\)/', $code) === 1;
            if (!$asked && \preg_match('/(?<![\w>:$]|function )(?<!\w\\\\)\\\\?' . $function . ' ?\(/', $plain) === 1) {
                $found[] = $function . '()';
            }
        }
        return \array_values(\array_unique(\array_filter($found)));
    }

    /** @return array<string, string> by the pattern in code without comments, and with all strings empty */
    private static function patterns(): array
    {
        $visibility = '\b(?:public|protected|private|var)';
        $type = self::TYPE;
        return [
            "/$visibility (?:static )?(?!static|function|const)$type \\$\w+/" => 'a typed property (7.4)',
            "/__construct ?\([^)]*$visibility/" => 'a promoted parameter (8.0)',
            '/[(,] ?[a-z_]\w* ?:(?!:)/i' => 'a named argument (8.0)',
            '/, ?\)/' => 'a comma at the end of a call (7.3)',
            "/[(,] ?[\w\\\\?]+ ?\| ?[\w\\\\|]+ &?(?:\.\.\.)?\\$/" => 'a union type (8.0)',
            '/\) ?: ?[\w\\\\?]+ ?\|/' => 'a union type (8.0)',
            '/[(,] ?mixed \$|\) ?: ?mixed\b/' => 'mixed (8.0)',
            '/\) ?: ?\??static\b(?! function)/' => 'static as a type (8.0)',
            '/\) ?: ?never\b/' => 'never (8.1)',
            '/catch ?\([^$]+\)/' => 'catch without a variable (8.0)',
            '/\[ ?\.\.\.|\[[^][()]*, ?\.\.\./' => 'an unpacked array (7.4)',
            '/\[[^][]*&\$[^][]*\] ?=(?![=>])/' => 'a reference in a list (7.3)',
            '/(?:\?\?|\?:|[=(,:?]) ?throw\b/' => 'throw as an expression (8.0)',
            '/\( ?\.\.\. ?\)/' => 'a function as a value (8.1)',
            '/\bJSON_THROW_ON_ERROR\b/' => 'JSON_THROW_ON_ERROR (7.3)',
        ];
    }
}
