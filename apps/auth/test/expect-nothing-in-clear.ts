import { expect } from 'vitest'
import { dumpTables } from './open-test-stores.ts'
import type { RunningAuth } from './start-auth.ts'

/** Lists the encodings in which a value could be stored or logged. */
const listEncodings = (value: string) => {
  const bytes = Buffer.from(value)
  const withoutPrefix = value.replace(/^(ppt|pps|rss)_/, '')
  return [
    value,
    withoutPrefix,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(value),
  ]
}

/** Checks that no value of `auth.confidential` is in a table, in Redis or in a log line, in any of the usual encodings. */
export async function expectNothingInClear(auth: RunningAuth): Promise<void> {
  // The secrets of the two resource servers are always there. The test must have added other values.
  expect(auth.confidential.size).toBeGreaterThan(2)
  const storedText = [
    await dumpTables(auth.testbed.db),
    (await auth.testbed.redis?.dump()) ?? '',
    auth.logged.join(''),
  ].join('\n')
  for (const value of auth.confidential)
    for (const encoded of listEncodings(value))
      if (storedText.includes(encoded)) expect.unreachable(`found ${value} in clear`)
}
