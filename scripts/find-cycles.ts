import type { Import } from './read-imports.ts'

/**
 * Finds files that import themselves by way of others, each circle once, types included: two files that need each
 * other's types are one thing in two files.
 *
 * @returns the circles as paths whose last file is their first.
 */
export function findCycles(imports: readonly Import[]): string[][] {
  const targets = Map.groupBy(imports, (entry) => entry.file)
  const done = new Set<string>()
  const cycles: string[][] = []
  const walk = (file: string, trail: readonly string[]) => {
    const seenAt = trail.indexOf(file)
    if (seenAt >= 0) cycles.push([...trail.slice(seenAt), file])
    if (seenAt >= 0 || done.has(file)) return
    for (const { target } of targets.get(file) ?? []) walk(target, [...trail, file])
    done.add(file)
  }
  for (const file of targets.keys()) walk(file, [])
  return cycles
}
