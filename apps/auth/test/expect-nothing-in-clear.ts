import { expect } from 'vitest'
import { dumpTables } from './open-authority.ts'
import type { RunningAuth } from './start-auth.ts'

/** The spellings under which a value could lie somewhere. */
const spellings = (value: string) => {
  const bytes = Buffer.from(value)
  const bare = value.replace(/^(ppt|pps|rss)_/, '')
  return [
    value,
    bare,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(value),
  ]
}

/** Nothing that was given in confidence is in a table, in Redis or in a log line. */
export async function expectNothingInClear(auth: RunningAuth): Promise<void> {
  expect(auth.confidential.size).toBeGreaterThan(2)
  const stored = [
    await dumpTables(auth.stores.db),
    (await auth.stores.redis?.dump()) ?? '',
    auth.logged.join(''),
  ].join('\n')
  for (const value of auth.confidential)
    for (const spelling of spellings(value))
      if (stored.includes(spelling)) expect.unreachable(`found ${value} in clear`)
}
