// The type of the cases of alerts; alert-cases.ts has the notation.

/** At this time, with these series, exactly the alerts with these labels fire. */
export type AlertCase = readonly [at: string, series: readonly string[], fires: readonly string[]];
