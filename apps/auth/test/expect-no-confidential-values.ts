import { expect } from 'vitest'
import { dumpTables } from './open-test-stores.ts'
import type { RunningAuth } from './start-auth.ts'

/** Lists the common forms in which a value could be stored or logged: unchanged, without its prefix, and encoded. */
const listStoredForms = (value: string) => {
  const bytes = Buffer.from(value)
  // Access tokens, refresh tokens, client secrets and resource-server secrets have a prefix. The random part alone is
  // confidential too.
  const withoutPrefix = value.replace(/^(ppt|ppr|pps|rss)_/, '')
  return [
    value,
    withoutPrefix,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(value),
  ]
}

/**
 * Creates a pattern that matches a code as people read it, with or without a space in the middle. It does not match the digits in
 * a longer number, word, id or encoded value, or in a decimal number such as the seconds of a time.
 */
const createCodePattern = (code: string) =>
  new RegExp(`(?<![\\w-]|\\d\\.)${code.slice(0, 3)} ?${code.slice(3)}(?![\\w-]|\\.\\d)`)

/**
 * Checks that no table, Redis value or log line contains a value of `auth.confidential` in one of its `listStoredForms`, or a code
 * of `auth.confidentialCodes`.
 */
export async function expectNoConfidentialValues(auth: RunningAuth): Promise<void> {
  // `confidential` always contains the secrets of the two resource servers. Without other values, this check would prove nothing.
  expect(auth.confidential.size).toBeGreaterThan(2)
  const storedText = [
    await dumpTables(auth.testbed.db),
    (await auth.testbed.redis?.dump()) ?? '',
    auth.logged.join(''),
  ].join('\n')
  for (const value of auth.confidential)
    for (const form of listStoredForms(value))
      if (storedText.includes(form))
        expect.unreachable(`found the confidential value ${value} in a table, in Redis or in the log`)
  for (const code of auth.confidentialCodes)
    if (createCodePattern(code).test(storedText))
      expect.unreachable(`found the confidential code ${code} in a table, in Redis or in the log`)
}
