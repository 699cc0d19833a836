// Package record shows that the record of calls tells the truth, whatever happens
// to the hub and to its database: the hub is killed at every boundary and at any
// moment, the disk is full, the database is held by another program or is down,
// and secrets are put wherever there is a place for one.
//
// What was done is counted by the fault-injecting server, in a file that outlives
// everybody; what was told is what the callers got. The record has to agree with
// both. Only Linux has what that takes.
package record
