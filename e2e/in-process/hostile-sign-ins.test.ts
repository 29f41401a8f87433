import { type DocumentServer, startDocumentServer } from '@plainpath/auth/document-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOSTILE_AUTHORIZATIONS } from '../hosts/hostile-authorizations.ts'
import { HOSTILE_SIGN_INS } from '../hosts/hostile-sign-ins.ts'
import { HOSTILE_TOKENS } from '../hosts/hostile-tokens.ts'
import { type HostileRow, openScene, type Scene } from '../hosts/scene.ts'
import { startSystemWithMail } from '../start-system-with-mail.ts'

/*
 * Attempts to get access that a person did not give. Each row is refused and grants nothing, and the same row without its hostile
 * part gets a token that works.
 */

const resources = new AsyncDisposableStack()
let scene: Scene
beforeAll(async () => {
  const documents: DocumentServer = resources.use(await startDocumentServer())
  const system = resources.use(await startSystemWithMail({ documents }))
  scene = resources.use(await openScene(system, documents))
})
afterAll(() => resources.disposeAsync())

function testRows(rows: readonly HostileRow[]): void {
  test.for(rows.map((row) => [row.what, row] as const))('%s', async ([, { run, refused }]) => {
    expect(await run(scene, true)).toMatchObject(refused)
    expect(await scene.countNewGrants()).toBeLessThanOrEqual(0)
    expect(await run(scene, false)).toEqual({ at: 'granted' })
  })
}

describe('an authorization request is refused', () => {
  testRows(HOSTILE_AUTHORIZATIONS)
})
describe('a sign-in grants nothing:', () => {
  testRows(HOSTILE_SIGN_INS)
})
describe('at the token endpoint or the API is refused:', () => {
  testRows(HOSTILE_TOKENS)
})

test('there are more than thirty rows', () => {
  expect(HOSTILE_AUTHORIZATIONS.length + HOSTILE_SIGN_INS.length + HOSTILE_TOKENS.length).toBeGreaterThan(30)
})
