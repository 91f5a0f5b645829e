// The longest turn of this thread's event loop, in its own processor time: what others take of the processors is not
// its fault. It is looked at every few milliseconds, so a turn is seen with what stood around it.
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
