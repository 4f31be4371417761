package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"sidecar/queue"
)

// The functions in this file return setters: each takes a value as the TOML decoder types it, puts it where dst
// points, or says what is wanted instead and leaves dst alone.

func text[T ~string](dst *T) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		if !ok {
			return errors.New("want a text in quotes")
		}
		*dst = T(s)
		return nil
	}
}

func oneOf(dst *string, first, second string) func(any) error {
	return func(v any) error {
		if v != first && v != second {
			return fmt.Errorf("want %q or %q", first, second)
		}
		return text(dst)(v)
	}
}

// entryError is the fault of one value in an array.
type entryError struct {
	index int
	value any
	want  error
}

// Error says what is wanted, the rest is said by the table.
func (e entryError) Error() string { return e.want.Error() }

func texts(dst *[]string) func(any) error {
	return func(v any) error {
		array, ok := v.([]any)
		if !ok {
			return errors.New(`want an array of texts, such as ["10.0.0.1:6379"]`)
		}
		return entries(dst, array, text)
	}
}

func flag(dst *bool) func(any) error {
	return func(v any) error {
		b, ok := v.(bool)
		if !ok {
			return errors.New("want true or false, without quotes")
		}
		*dst = b
		return nil
	}
}

func integer[T int | int64](dst *T) func(any) error {
	return func(v any) error {
		n, ok := v.(int64)
		if !ok || int64(T(n)) != n {
			return errors.New("want a whole number, without quotes")
		}
		*dst = T(n)
		return nil
	}
}

func fileMode(dst *os.FileMode) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		n, err := strconv.ParseUint(s, 8, 32)
		if !ok || err != nil || n > 0o777 {
			return errors.New(`want a file's mode in octal digits and quotes, such as "0660"`)
		}
		*dst = os.FileMode(n)
		return nil
	}
}

func share(dst *float64) func(any) error {
	return func(v any) error {
		switch n := v.(type) {
		case float64:
			*dst = n
		case int64:
			*dst = float64(n)
		default:
			return errors.New("want a share from 0.0 to 1.0, without quotes")
		}
		return nil
	}
}

func duration(dst *time.Duration) func(any) error {
	return func(v any) error {
		s, _ := v.(string)
		d, err := time.ParseDuration(s)
		if err == nil {
			*dst = d
			return nil
		}
		if n, ok := v.(int64); ok && n != 0 {
			return fmt.Errorf("want a duration with its unit, such as \"%ds\" or \"%dms\"", n, n)
		}
		return errors.New(`want a duration such as "30s"`)
	}
}

func rate(dst *queue.Rate) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		if !ok {
			s = "none" // which says what is wanted
		}
		r, err := queue.ParseRate(s)
		if err == nil {
			*dst = r
		}
		return err
	}
}

func windows(dst *[]queue.Window) func(any) error {
	return func(v any) error {
		array, ok := v.([]any)
		if !ok {
			return errors.New(`want an array of spans of the day, such as ["02:00-04:00", "Sat,Sun 00:00-24:00"]`)
		}
		if len(array) == 0 { // as if it were not there
			*dst = nil
			return nil
		}
		return entries(dst, array, window)
	}
}

func window(dst *queue.Window) func(any) error {
	return func(v any) error {
		s, _ := v.(string)
		w, err := queue.ParseWindow(s)
		if err == nil {
			*dst = w
		}
		return err
	}
}

func durations(dst *[]time.Duration) func(any) error {
	return func(v any) error {
		array, ok := v.([]any)
		if !ok {
			return errors.New(`want an array of durations, such as ["5s", "2m"]`)
		}
		return entries(dst, array, duration)
	}
}

// entries sets dst from array, each entry by the setter that set returns, or says all that is wrong with them.
func entries[T any](dst *[]T, array []any, set func(*T) func(any) error) error {
	list := make([]T, len(array))
	var errs []error
	for i := range array {
		if err := set(&list[i])(array[i]); err != nil {
			errs = append(errs, entryError{i, array[i], err})
		}
	}
	if errs == nil {
		*dst = list
	}
	return errors.Join(errs...)
}

// sizeText is a number of bytes with a unit; all of them count in 1024.
var sizeText = regexp.MustCompile(`^([0-9]{1,15}) ?(B|K|KB|KiB|M|MB|MiB|G|GB|GiB)?$`)

func size[T int | int64](dst *T) func(any) error {
	return func(v any) error {
		if n, ok := v.(int64); ok {
			return integer(dst)(n)
		}
		s, _ := v.(string)
		m := sizeText.FindStringSubmatch(s)
		if m == nil {
			return errors.New(`want a size such as "64KB", or a number of bytes`)
		}
		n, _ := strconv.ParseInt(m[1], 10, 64) // 15 digits fit
		factor := int64(1) << (10 * strings.IndexAny("BKMG", (m[2] + "B")[:1]))
		if n > math.MaxInt/factor {
			return errors.New("want less than memory has")
		}
		*dst = T(n * factor)
		return nil
	}
}

func pattern(dst **regexp.Regexp) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		if !ok {
			return errors.New(`want a regular expression in quotes, such as '^ok$'`)
		}
		if s == "" {
			*dst = nil
			return nil
		}
		re, err := regexp.Compile(s)
		if err != nil {
			return fmt.Errorf("want a regular expression of Go's kind (RE2): %s", reasonOf(err))
		}
		*dst = re
		return nil
	}
}

// reasonOf says why a pattern does not compile, in one line whatever it holds.
func reasonOf(err error) string {
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Sprintf("%s in %q", se.Code, se.Expr)
	}
	return err.Error()
}

func zone(dst **time.Location) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		if ok && (s == "" || s == "Local") {
			*dst = time.Local
			return nil
		}
		loc, err := time.LoadLocation(s)
		if !ok || err != nil {
			return errors.New(`want a time zone such as "Asia/Shanghai" (PHP's date.timezone), or "" for the system's`)
		}
		*dst = loc
		return nil
	}
}

func level(dst *slog.Level) func(any) error {
	return func(v any) error {
		switch v {
		case "debug":
			*dst = slog.LevelDebug
		case "info":
			*dst = slog.LevelInfo
		case "warn":
			*dst = slog.LevelWarn
		case "error":
			*dst = slog.LevelError
		default:
			return errors.New(`want "debug", "info", "warn" or "error"`)
		}
		return nil
	}
}
