/** Measures the CPU time of this process while `work` runs, in milliseconds. Other processes do not affect it. */
export async function measureCpuMs(work: () => unknown): Promise<number> {
  const usageBefore = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(usageBefore)
  return (user + system) / 1_000
}
