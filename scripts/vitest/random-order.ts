import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the files of each project in random order, so that no file depends on another one. Projects stay together:
 * a worker that changes to another one loads all modules again. `--sequence.seed` repeats an order.
 */
export default class RandomOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { seed } = this.ctx.config.sequence
    process.stdout.write(`The files run in random order: --sequence.seed=${seed}\n`)
    return inRandomOrder(files, seed, ({ project, moduleId }) => [project.name, moduleId])
  }
}

/** @param sortKeys returns the group of an entry, whose entries stay together, and the key of the entry within the group */
export function inRandomOrder<T>(
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

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return value >>> 0
}
