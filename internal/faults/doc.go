// Package faults is the proof that nothing is lost: tests that run shops of two sidecars and an old consumer, break
// one thing after the other while jobs of known fate run, and account for every job at the end.
//
//	make faults                                    a few hundred jobs a kind of fault, and a report in .cache/faults
//	make faults FAULTS_JOBS=10000                  the long form
//	make faults FAULTS_KINDS='^redis-' FAULTS_SEED=7
//	make soak FAULTS_SOAK=20m                      500 jobs/s, a fault every 10 s, memory watched
//
// A shop has its own redis-server and php-fpm. Its job script writes a ledger, one line at the start and one at the end of
// each run, which survives a kill. What the ledger, the dead records and the keys say in the end is compared with what
// was written: a job that ended in none of them is lost; one that was done twice needs a fault that explains it.
package faults
