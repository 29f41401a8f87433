import { describe, expect, test } from 'vitest'
import { bearerToken } from './bearer-header.ts'

const TOKEN = `ppt_${'aZ09_-x'.repeat(6)}A`
const sent = (...authorization: string[]) =>
  bearerToken({ rawHeaders: authorization.flatMap((header) => ['Authorization', header]) })

describe('the Authorization header', () => {
  test.for([`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BeArEr   ${TOKEN}`])('holds a token: %s', (header) => {
    expect(sent(header)).toEqual({ ok: true, value: TOKEN })
  })

  test.for([
    ['none', []],
    ['several', [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`]],
    ['several', ['', `Bearer ${TOKEN}`]],
    ['another-scheme', ['']],
    ['another-scheme', ['Basic YTpi']],
    ['another-scheme', [`Bearerx ${TOKEN}`]],
    ['another-scheme', [`Bearer${TOKEN}`]],
    ['another-scheme', [TOKEN]],
    ['malformed', ['Bearer']],
    ['malformed', ['Bearer ']],
    ['malformed', [`Bearer\t${TOKEN}`]],
    ['malformed', [`Bearer ${TOKEN} `]],
    ['malformed', [`Bearer ${TOKEN} x`]],
    ['malformed', [`Bearer ${TOKEN}=`]],
    ['malformed', [`Bearer ${TOKEN}\n`]],
    ['malformed', [`Bearer x${TOKEN}`]],
    ['malformed', [`Bearer ${TOKEN.toUpperCase()}`]],
    ['malformed', [`Bearer Bearer ${TOKEN}`]],
  ] as const)('holds no token (%s): %j', ([error, headers]) => {
    expect(sent(...headers)).toEqual({ ok: false, error })
  })
})
