/** The exit codes of `cairn cluster …` (docs/operations/cluster.md). */

export const EXIT_REFUSED = 1;
export const EXIT_USAGE = 2;
/** Of a drain: without the node something would have no quorum. */
export const EXIT_NO_QUORUM = 3;
/** Of a drain that stays: the time is over, and the node has leaderships that no other node has taken. */
export const EXIT_LEFT = 4;
