import path from 'node:path'
import { expect, test } from 'vitest'
import { openRepository } from './repository.ts'

const { files, read } = openRepository(path.resolve(import.meta.dirname, '..'))
const OF_TESTS =
  /\.(test|contract|fixture)\.ts$|^(apps|packages)\/[^/]+\/test\/|\/testing\/|^(scripts|e2e|infra|bench)\//
const product = files.filter((file) => /\.(ts|mjs)$/.test(file) && !OF_TESTS.test(file))
const naming = (words: RegExp) => product.filter((file) => words.test(read(file)))

test('N-160 no request is answered by a hash that is slow on purpose: secrets have 256 random bits', () => {
  expect(product.length).toBeGreaterThan(300)
  // The passwords of database roles, when they are made.
  expect(naming(/\b(scrypt|pbkdf2|bcrypt|argon2)/i)).toEqual(['packages/postgres/src/roles-and-databases.ts'])
  const manifests = files.filter((file) => file.endsWith('package.json')).map(read)
  expect(manifests.join('\n')).not.toMatch(/"[^"]*(bcrypt|argon2|scrypt)[^"]*":/)
})

test('N-163 nothing reads an encrypted JWT', () => {
  expect(naming(/\b(jwt|compact|flattened|general)Decrypt\b/i)).toEqual([])
})

test('N-254 spans are measured by a clock that only rises', () => {
  expect(naming(/\bDate\.now\(\)/)).toEqual([
    // A point in time beside others that the library takes from that clock.
    'apps/auth/src/oauth/override-provider.ts',
    // The age of a file.
    'packages/postgres/src/embedded/cluster.ts',
  ])
})
