<?php

declare(strict_types=1);

namespace Sidecar\Wire;

/** The inputs that are chosen by hand. */
final class Cases
{
    /** @return array<string, string> jobs whose bytes PHP keeps */
    public static function jobs(): array
    {
        return [
            'plain' => '{"uuid":"a1","type":"order_timeout","order_id":100001}',
            'retry there' => '{"uuid":"a1","retry":2,"payload":{"x":1}}',
            'retry and error there' => '{"uuid":"a1","retry":4,"last_error":"old","payload":1}',
            'error before retry' => '{"last_error":"","uuid":"a1","retry":0}',
            'fifth failure is the last retry' => '{"uuid":"a1","retry":4}',
            'sixth failure buries' => '{"uuid":"a1","retry":5}',
            'replayed before' => '{"uuid":"a1","replayed_at":"2020-01-01 00:00:00","retry":0}',
            'retry is null' => '{"uuid":"a1","retry":null,"z":1}',
            'retry is a string' => '{"uuid":"a1","retry":"2","z":1}',
            'retry is an exponent in a string' => '{"uuid":"a1","retry":"1e2"}',
            'retry is negative' => '{"uuid":"a1","retry":-3}',
            'retry is a fraction' => '{"uuid":"a1","retry":2.7}',
            'retry is true' => '{"uuid":"a1","retry":true}',
            'retry is an empty list' => '{"uuid":"a1","retry":[],"z":1}',
            'retry is a list' => '{"uuid":"a1","retry":[7,[8]],"z":1}',
            'last_error is a list' => '{"uuid":"a1","last_error":[1,{"retry":9}],"z":1}',
            'fields of these names further in' =>
                '{"payload":{"retry":7,"last_error":"x","uuid":"no"},"list":[{"retry":8}],"uuid":"a1"}',
            'names of these fields as values' => '{"a":"retry","b":"\"retry\":5","uuid":"a1"}',
            'a name that begins alike' => '{"retry_count":3,"Retry":4,"uuid":"a1","retr":5}',
            'slashes' => '{"url":"https:\/\/example.com\/a?b=1&c=<d>","uuid":"a1"}',
            'Chinese' => '{"uuid":"a1","备注":"订单超时，取消"}',
            'emoji and separators' => '{"uuid":"a1","t":"😀\u2028\u2029\u0000\u001f"}',
            'large integers' =>
                '{"uuid":"a1","max":9223372036854775807,"min":-9223372036854775808,"id":130775545883395173}',
            'floats' => '{"uuid":"a1","p":277.2,"q":0.1,"r":1.0e+25,"s":-2.5e-7}',
            'empty list' => '{"uuid":"a1","ids":[],"payload":[[],[[]]]}',
            'list with a hole' => '{"uuid":"a1","items":{"0":"a","2":"c"}}',
            'empty key' => '{"uuid":"a1","":3,"big":{"9223372036854775808":1,"-0":2,"":3}}',
            'numeric keys outside' => '{"5":"five","uuid":"a1"}',
            'no uuid' => '{"order_id":7}',
            'long error' => '{"uuid":"a1"}',
            'long error over an old one' => '{"uuid":"a1","last_error":"short","retry":1}',
            'deep' => '{"uuid":"a1","d":' . str_repeat('[', 500) . str_repeat(']', 500) . '}',
        ];
    }

    /** @return string[] JSON values; none of them beyond the integers, where (int) of a float wraps around */
    public static function counts(): array
    {
        return [
            '0', '2', '-3', '7', '2.7', '-2.7', '0.99', '1e2', '1.5E+1', '250e-2', '-0', '-0.0', '9007199254740993',
            '9223372036854775806', 'true', 'false', 'null', '[]', '[ ]', '[0]', '{}', "{\n}", '{"a":0}', '""', '"2"',
            '"1e2"', '"1E2x"', '"2.7"', '"-3"', '"+7"', '" 2"', '"2 "', '"\t\n\r 5"', '"\u000b6"', '"\f4"',
            '"\u00003"', '"\u00a03"', '".5e1"', '"-.5e1"', '"."', '"-"', '"+-1"', '"1."', '"1.e1"', '"1e"', '"1e+"',
            '"0x1A"', '"010"', '"abc"', '"3abc"', '"1_000"', '"Infinity"', '"nan"', '"\u0032"',
            '"-99999999999999999999"', '"-1e30"', '-9223372036854775808',
        ];
    }

    /** @return array<string, string> */
    public static function texts(): array
    {
        $object = '{"uuid":"a1"}';
        $nested = static function (int $depth): string {
            return '{"uuid":"a1","d":' . str_repeat('[', $depth - 1) . str_repeat(']', $depth - 1) . '}';
        };
        return [
            'object' => $object,
            'empty object' => '{}',
            'white space around' => " \t\r\n{ \"uuid\" : \"a1\" } \n\t\r ",
            'trailing newline' => "$object\n",
            'trailing NUL' => "$object\0",
            'trailing backspace' => "$object\x08",
            'trailing form feed' => "$object\x0c",
            'trailing no-break space' => "$object\u{A0}",
            'trailing comma' => "$object,",
            'two objects' => $object . $object,
            'leading NUL' => "\0$object",
            'byte order mark' => "\u{FEFF}$object",
            'empty' => '',
            'white space only' => " \n",
            'null' => 'null',
            'true' => 'true',
            'number' => '42',
            'string' => '"str"',
            'list' => '[]',
            'list of an object' => "[$object]",
            'JSON in a string' => json_encode($object),
            'serialized' => 'a:1:{s:4:"uuid";s:1:"z";}',
            'cut off after a brace' => '{',
            'cut off in a key' => '{"uu',
            'cut off after a key' => '{"uuid"',
            'cut off after a colon' => '{"uuid":',
            'cut off in a string' => '{"uuid":"a',
            'cut off after a backslash' => '{"uuid":"a\\',
            'cut off in an escape' => '{"uuid":"\u00',
            'cut off in a literal' => '{"uuid":tru',
            'cut off after a minus' => '{"uuid":-',
            'cut off after a value' => '{"uuid":"a1"',
            'cut off after a comma' => '{"uuid":"a1",',
            'comma before the brace' => '{"uuid":"a1",}',
            'comma first' => '{,"uuid":"a1"}',
            'comma in a list' => '{"uuid":"a1","l":[1,]}',
            'two commas' => '{"uuid":"a1","l":[1,,2]}',
            'no comma' => '{"uuid":"a1" "b":1}',
            'no colon' => '{"uuid" "a1"}',
            'key without quotes' => '{uuid:"a1"}',
            'single quotes' => "{'uuid':'a1'}",
            'number as key' => '{1:2}',
            'wrong bracket' => '{"uuid":"a1","l":[1}',
            'wrong brace' => '{"uuid":"a1"]',
            'comment' => '{"uuid":"a1"/* c */}',
            'literal in capitals' => '{"uuid":"a1","x":TRUE}',
            'literal run on' => '{"uuid":"a1","x":nullx}',
            'NaN' => '{"uuid":"a1","x":NaN}',
            'leading zero' => '{"uuid":"a1","x":01}',
            'negative leading zero' => '{"uuid":"a1","x":-01}',
            'plus sign' => '{"uuid":"a1","x":+1}',
            'point first' => '{"uuid":"a1","x":.5}',
            'point last' => '{"uuid":"a1","x":1.}',
            'exponent without digits' => '{"uuid":"a1","x":1e}',
            'exponent with sign only' => '{"uuid":"a1","x":1e+}',
            'hexadecimal' => '{"uuid":"a1","x":0x1}',
            'numbers of all kinds' => '{"uuid":"a1","x":[0,-0,0.0,1e5,1E+5,1.5e-5,-12.25]}',
            'huge exponent' => '{"uuid":"a1","x":1e999}',
            'newline in a string' => "{\"uuid\":\"a\n1\"}",
            'tab in a key' => "{\"uu\tid\":1}",
            'NUL in a string' => "{\"uuid\":\"a\0\"}",
            'DEL in a string' => "{\"uuid\":\"a\x7f\"}",
            'control character behind eight plain bytes' => "{\"uuid\":\"0123456789abcde\x1f\"}",
            'all escapes' => '{"uuid":"\"\\\\\/\b\f\n\r\t\u00e9\u4E2d"}',
            'escaped NUL' => '{"uuid":"a\u0000b"}',
            'key that begins with NUL' => '{"uuid":"a1","payload":{"\u0000x":1}}',
            'surrogate pair' => '{"uuid":"\ud83d\ude00"}',
            'surrogate pair in capitals' => '{"uuid":"\uD83D\uDE00"}',
            'high surrogate alone' => '{"uuid":"a1","x":"\ud83d"}',
            'high surrogate before a letter' => '{"uuid":"a1","x":"\ud83dx"}',
            'high surrogate before an escape' => '{"uuid":"a1","x":"\ud83d\n"}',
            'high surrogate twice' => '{"uuid":"a1","x":"\ud83d\ud83d\ude00"}',
            'low surrogate alone' => '{"uuid":"a1","x":"\ude00"}',
            'surrogate in a key' => '{"uuid":"a1","\ud83d":1}',
            'unknown escape' => '{"uuid":"\q"}',
            'capital U' => '{"uuid":"\U0041"}',
            'escape without digits' => '{"uuid":"\uZZZZ"}',
            'escaped field name' => '{"\u0075uid":"a1"}',
            'duplicate' => '{"uuid":"first","uuid":"a1"}',
            'duplicate by escape' => '{"uuid":"first","uui\u0064":"a1"}',
            'uuid of another type' => '{"uuid":[1]}',
            'Latin-1' => "{\"uuid\":\"a1\",\"name\":\"caf\xE9\"}",
            'cut off character' => "{\"uuid\":\"a1\",\"x\":\"\xE4\xBD\"}",
            'overlong character' => "{\"uuid\":\"a1\",\"x\":\"\xC0\xAF\"}",
            'surrogate in UTF-8' => "{\"uuid\":\"a1\",\"x\":\"\xED\xA0\x80\"}",
            'beyond Unicode' => "{\"uuid\":\"a1\",\"x\":\"\xF4\x90\x80\x80\"}",
            'last character of Unicode' => '{"uuid":"' . "\u{10FFFF}" . '"}',
            'no UTF-8 outside of a string' => "{\"uuid\":\"a1\",\xE9}",
            'depth 510' => $nested(510),
            'depth 511' => $nested(511),
            'depth 512' => $nested(512),
            'depth 513' => $nested(513),
            'depth 600' => $nested(600),
        ];
    }

    /** @return array<array{string, string, string}> prefix, topic, uuid */
    public static function topics(): array
    {
        return [
            ['', 'order_timeout', 'a1'],
            ['laravel_database_', 'mail', '4f0c8e2e-0f5d-4f38-9f34-0a52a2f2f9d3'],
            ['', '{order_timeout}', 'a1'],
            ['{shop}:', 'mail', 'a1'],
            ['', '{}mail', 'a1'],
            ['', 'a{b', 'c}d'],
            ['', 'x{{y}}z', ''],
            ['', '订单', '编号'],
            ['p:', 'with space', 'a:b'],
        ];
    }
}
