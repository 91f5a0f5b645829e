/** Limits of the service; tests use smaller ones. */

export interface ServiceLimits {
  /** Maximum time that a read waits for a revision that this node has not applied, before it asks the leader. */
  readonly readWaitMs: number;
  /** Maximum number of names in one page of a listing. */
  readonly namesPerPageMax: number;
  /** Maximum number of events that a subscription collects before it passes them on. */
  readonly tailEventsMax: number;
  /** Size of the cache of the newest events of a database, shared by its subscribers. */
  readonly tailBytesMax: number;
  /** Maximum number of revisions read for all subscribers at once; a subscriber that lags more reads for itself. */
  readonly tailGapMax: number;
  readonly heartbeatMsMin: number;
  readonly heartbeatMsMax: number;
  /** Maximum number of streaming reads on this node, and of subscriptions. */
  readonly streamsMax: number;
  readonly tailsMax: number;
  /** Interval between two checks for State Views to maintain, and maximum number of databases per check. */
  readonly viewPollMs: number;
  readonly viewsPerPollMax: number;
  /** Maximum number of maintained folds per database. */
  readonly maintainedMax: number;
}

export const SERVICE_LIMITS: ServiceLimits = {
  readWaitMs: 250,
  namesPerPageMax: 1000,
  tailEventsMax: 1000,
  tailBytesMax: 4 * 2 ** 20,
  tailGapMax: 10_000,
  heartbeatMsMin: 100,
  heartbeatMsMax: 60_000,
  streamsMax: 10_000,
  tailsMax: 10_000,
  viewPollMs: 1_000,
  viewsPerPollMax: 100,
  maintainedMax: 1_000,
};
