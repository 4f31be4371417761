<?php

declare(strict_types=1);

// Stands in for APCu in one process: what ApcuState uses, with the same answers.

final class FakeApcu
{
    /** @var array<string, mixed> */
    public static $values = [];
}

function apcu_enabled(): bool
{
    return true;
}

function apcu_fetch($key)
{
    return FakeApcu::$values[$key] ?? false;
}

function apcu_add($key, $value): bool
{
    if (isset(FakeApcu::$values[$key])) {
        return false;
    }
    FakeApcu::$values[$key] = $value;
    return true;
}

function apcu_inc($key)
{
    return FakeApcu::$values[$key] = (FakeApcu::$values[$key] ?? 0) + 1;
}

function apcu_cas($key, $old, $new): bool
{
    if ((FakeApcu::$values[$key] ?? null) !== $old) {
        return false;
    }
    FakeApcu::$values[$key] = $new;
    return true;
}

function apcu_delete($key): bool
{
    $was = isset(FakeApcu::$values[$key]);
    unset(FakeApcu::$values[$key]);
    return $was;
}
