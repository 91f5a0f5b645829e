// Measures the longest event-loop turn of this thread in its own CPU time, so that other processes do not count. It
// samples every few milliseconds, so a sample may contain adjacent turns.
const LOOKED_AT_MS = 2;

export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longestUs = 0;
  let before = usedUs();
  const look = (): void => {
    const now = usedUs();
    longestUs = Math.max(longestUs, now - before);
    before = now;
  };
  const timer = setInterval(look, LOOKED_AT_MS);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longestUs / 1000;
}

function usedUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
