import path from 'node:path'
import { expect, test } from 'vitest'
import { openRepository } from './repository.ts'

/** Those that run a program, and why. None of them is given anything that a request said. */
const MAY_START_PROGRAMS = [
  // The database server, and the copy of its folder.
  /^packages\/postgres\/src\/embedded\//,
  // What only people and tests run.
  /^(scripts|infra|e2e|bench)\//,
  /\.(test|contract|fixture)\.ts$|^(apps|packages)\/[^/]+\/test\//,
]

test('N-233 nothing that answers requests starts a program', () => {
  const { files, read } = openRepository(path.resolve(import.meta.dirname, '..'))
  const starting = files.filter(
    (file) => /\.(ts|mjs)$/.test(file) && /['"](node:)?(child_process|worker_threads)['"]/.test(read(file)),
  )
  expect(starting.length).toBeGreaterThan(0)
  expect(starting.filter((file) => !MAY_START_PROGRAMS.some((allowed) => allowed.test(file)))).toEqual([])
})
