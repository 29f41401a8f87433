/** Measures the CPU time of this process while `work` runs, in milliseconds. Other processes do not affect it. */
export async function cpuTimeOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
