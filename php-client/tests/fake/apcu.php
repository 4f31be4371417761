<?php

declare(strict_types=1);

// Stands in for APCu in one process: what ApcuState uses, with the same answers.

/** The one place of the values. */
function &fake_apcu(): array
{
    static $values = [];
    return $values;
}

function apcu_enabled(): bool
{
    return true;
}

function apcu_fetch($key)
{
    $values = &fake_apcu();
    return $values[$key] ?? false;
}

function apcu_add($key, $value): bool
{
    $values = &fake_apcu();
    if (isset($values[$key])) {
        return false;
    }
    $values[$key] = $value;
    return true;
}

function apcu_inc($key)
{
    $values = &fake_apcu();
    return $values[$key] = ($values[$key] ?? 0) + 1;
}

function apcu_cas($key, $old, $new): bool
{
    $values = &fake_apcu();
    if (($values[$key] ?? null) !== $old) {
        return false;
    }
    $values[$key] = $new;
    return true;
}

function apcu_delete($key): bool
{
    $values = &fake_apcu();
    $was = isset($values[$key]);
    unset($values[$key]);
    return $was;
}
