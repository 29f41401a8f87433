/** The number of calls of each Redis command, such as `get` or `client|setname`. */
export type CommandCounts = Readonly<Record<string, number>>

/** Parses the reply to `INFO commandstats`. It also counts the commands that scripts call. */
export function parseCommandStats(reply: string): CommandCounts {
  const lines = reply.matchAll(/^cmdstat_([^:\r\n]+):calls=(\d+),/gm)
  return Object.fromEntries([...lines].map(([, name = '', calls]) => [name, Number(calls)]))
}

/** Returns the calls between two counts. Leaves out commands without any. */
export function subtractCounts(counts: CommandCounts, earlier: CommandCounts): CommandCounts {
  const differences = Object.entries(counts).map(
    ([name, calls]) => [name, calls - (earlier[name] ?? 0)] as const,
  )
  return Object.fromEntries(differences.filter(([, calls]) => calls > 0))
}

/** Counts the calls of all commands. */
export const countCommands = (counts: CommandCounts): number =>
  Object.values(counts).reduce((sum, calls) => sum + calls, 0)

/** Counts the script calls. A client sends each as one command, so the commands that a script calls cost no further round trip. */
export const countScripts = (counts: CommandCounts): number =>
  (counts['eval'] ?? 0) + (counts['evalsha'] ?? 0)
