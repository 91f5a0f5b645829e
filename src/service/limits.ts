/** Every bound of the service, by name; tests take smaller ones. */

export interface ServiceLimits {
  /** How long a read waits for a revision that this node has not applied, before it asks the leader. */
  readonly readWaitMs: number;
  /** Names in one page of a listing. */
  readonly namesPerPageMax: number;
  /** Events that a live tail gathers for one subscriber before it hands them over. */
  readonly tailEventsMax: number;
  /** Bytes of newest events of a followed database that are kept for all its followers. */
  readonly tailBytesMax: number;
  /** Revisions that are read for all followers at once; whoever is further behind reads for itself. */
  readonly tailGapMax: number;
  readonly heartbeatMsMin: number;
  readonly heartbeatMsMax: number;
  /** Streaming reads that may be open on this node, and live tails beside them. */
  readonly streamsMax: number;
  readonly tailsMax: number;
  /** From one look for State Views that are to be kept up to the next one, and databases in one. */
  readonly viewLookMs: number;
  readonly viewLooksMax: number;
  /** Folds of one database that are kept up. */
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
  viewLookMs: 1_000,
  viewLooksMax: 100,
  maintainedMax: 1_000,
};
