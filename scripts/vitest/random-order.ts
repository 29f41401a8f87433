import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the test files of each project in random order, to reveal files that depend on one another. The files of a project stay
 * together, because a worker that switches projects loads all modules again. `--sequence.seed` repeats an order.
 */
export default class RandomOrderSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { seed } = this.ctx.config.sequence
    process.stdout.write(`Test files run in random order. To repeat it: --sequence.seed=${seed}\n`)
    return shuffleInGroups(files, seed, ({ project, moduleId }) => [project.name, moduleId])
  }
}

/**
 * Shuffles the entries within each group. Groups stay in the order of their first entries. The same seed gives the same order.
 *
 * @param getGroupAndName returns the group of an entry, and its unique name in the group
 */
export function shuffleInGroups<T>(
  entries: readonly T[],
  seed: number,
  getGroupAndName: (entry: T) => readonly [group: string, name: string],
): T[] {
  const groups = [...new Set(entries.map((entry) => getGroupAndName(entry)[0]))]
  const ranked = entries.map((entry) => {
    const [group, name] = getGroupAndName(entry)
    return { entry, group: groups.indexOf(group), rank: computeHash(`${seed} ${name}`) }
  })
  return ranked.sort((a, b) => a.group - b.group || a.rank - b.rank).map(({ entry }) => entry)
}

/** Computes a 32-bit hash of a string: FNV-1a over its code points. */
function computeHash(text: string): number {
  let hash = 0x811c9dc5
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}
