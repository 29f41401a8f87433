import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openRepository } from './repository.ts'

const ROOT = path.resolve(import.meta.dirname, '..')

/** The formats of real secrets. */
const SECRET_FORMATS = [
  // Our tokens and client secrets.
  /(?:ppt|pps|rss)_[A-Za-z0-9_-]{43}\b/,
  // A line of a file with key-encryption keys or hash keys.
  /\b(?:kek|hash)-[a-z0-9]+:[A-Za-z0-9_-]{43}\b/,
  /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/,
  // The private member of a JWK.
  /"d": ?"[A-Za-z0-9_-]{43,}"/,
  // Keys and tokens of AWS, GitHub and Slack.
  /\bAKIA[0-9A-Z]{16}\b/,
  /\bgh[pousr]_[A-Za-z0-9]{36}\b/,
  /\bxox[bp]-[0-9A-Za-z-]{20,}/,
  // A password in a URL, except for the usual words of examples and variables such as `$PASSWORD`.
  /\/\/[a-z]+:(?!password@|secret@|pw@|\$)[^\s@/'"`:]{12,}@/,
]
const SECRET = new RegExp(SECRET_FORMATS.map(({ source }) => source).join('|'), 'g')

/** The made-up secrets that the API description has as examples. */
const EXAMPLES = [
  'pps_4vQm2Xz8Kf0Ld6Hs1Bn5Gt9Wc3Rj7Ye0Ua4Io8Pq2Sk',
  'pps_nYw0x2C8mFh5Rk7Tq1Vb4Zd6Gj9Lp3Ss8Uu0Ww2Yy4A',
  'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df',
]
/** Returns whether a match is no real secret: it is one of the examples, has few different characters, or contains a telling word. */
function isMadeUp(match: string): boolean {
  if (match.startsWith('-----')) return false
  return EXAMPLES.includes(match) || new Set(match).size < 14 || /canary|example|wrong|secret/i.test(match)
}
const findSecrets = (text: string) => (text.match(SECRET) ?? []).filter((match) => !isMadeUp(match))

test('no file contains a secret, and no earlier version did', () => {
  const { files, read } = openRepository(ROOT)
  // Reports show only the first 12 characters of a match, so that a log does not reveal a real secret.
  const secrets = files
    .filter((file) => !/\.(png|ico|woff2)$/.test(file) && file !== 'pnpm-lock.yaml')
    .flatMap((file) => findSecrets(read(file)).map((secret) => `${file}: ${secret.slice(0, 12)}…`))
  expect(secrets).toEqual([])
  const history = execFileSync(
    'git',
    ['log', '-p', '--all', '--no-color', '--format=commit %h', '--', '.', ':!pnpm-lock.yaml'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 1024 * 1024 * 1024,
    },
  )
  const addedLines = history.split('\n').filter((line) => line.startsWith('+'))
  expect(addedLines.length).toBeGreaterThan(1_000)
  expect(findSecrets(addedLines.join('\n')).map((secret) => `${secret.slice(0, 12)}…`)).toEqual([])
})

test('every package is private, and there are no source maps', () => {
  const { files, read } = openRepository(ROOT)
  const manifests = files.filter((file) => /(^|\/)package\.json$/.test(file))
  expect(manifests.length).toBeGreaterThan(10)
  for (const file of manifests) expect([file, JSON.parse(read(file))['private']]).toEqual([file, true])
  expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
})

// Each secret is split into parts, so that the first test does not find it in this file.
test.for([
  ['ppt_', 'aB3-xY9_'.repeat(3), 'kLmNoPqRsTuVwZz0142'],
  ['kek', '-2026:', 'q83vEjRWeJCrze8SNFZ4', 'kKvN7xI0VniQq83vEjRWeJA'],
  ['-----BEGIN ', 'EC PRIVATE KEY-----'],
  ['AKIA', 'QWERTZUIOPASDFGH'],
])('finds a planted secret: %j', (parts) => {
  expect(findSecrets(`before ${parts.join('')} after`)).toHaveLength(1)
})
