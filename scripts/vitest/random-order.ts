import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the files of each project in random order, so that no file depends on another one. The files of a project stay together,
 * since a worker that changes to another project loads all modules again. `--sequence.seed` repeats an order.
 */
export default class RandomOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { seed } = this.ctx.config.sequence
    process.stdout.write(`The files run in random order: --sequence.seed=${seed}\n`)
    return shuffleInGroups(files, seed, ({ project, moduleId }) => [project.name, moduleId])
  }
}

/**
 * Shuffles the entries of each group. The groups keep their order.
 *
 * @param sortKeys returns the group of an entry, and its unique name in the group
 */
export function shuffleInGroups<T>(
  entries: readonly T[],
  seed: number,
  sortKeys: (entry: T) => readonly [group: string, name: string],
): T[] {
  const groups = [...new Set(entries.map((entry) => sortKeys(entry)[0]))]
  const ranked = entries.map((entry) => {
    const [group, name] = sortKeys(entry)
    return { entry, group: groups.indexOf(group), rank: hash(`${seed} ${name}`) }
  })
  return ranked.sort((a, b) => a.group - b.group || a.rank - b.rank).map(({ entry }) => entry)
}

/** Computes the 32-bit FNV-1a hash of a text. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return value >>> 0
}
