// Package testenv starts private servers for tests: a redis-server, Sentinels, and a php-fpm, each in a directory of
// its own and ended with the test. No test touches a server that it did not start. What tests of several packages
// ask in the same words stands here, too.
package testenv
