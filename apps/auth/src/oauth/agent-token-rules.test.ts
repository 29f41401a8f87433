import { err, ok, type Scope } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { grantScope } from './agent-token-rules.ts'

const ALLOWED: Scope[] = ['guides:read', 'waitlist:write']

test.for([
  [undefined, ok('guides:read waitlist:write')],
  ['', ok('guides:read waitlist:write')],
  ['   ', ok('guides:read waitlist:write')],
  ['waitlist:write', ok('waitlist:write')],
  ['waitlist:write guides:read', ok('guides:read waitlist:write')],
  ['guides:read guides:read', ok('guides:read')],
  ['guides:read contact:write admin', ok('guides:read')],
  ['contact:write', err('no-scope-granted')],
  ['Guides:Read', err('no-scope-granted')],
  ['guides:read,waitlist:write', err('no-scope-granted')],
  ['*', err('no-scope-granted')],
] as const)('a request for the scope %o gets %o', ([requested, result]) => {
  expect(grantScope(requested, ALLOWED)).toEqual(result)
})

test('a client without scopes gets none', () => {
  expect(grantScope(undefined, [])).toEqual(err('no-scope-granted'))
})
