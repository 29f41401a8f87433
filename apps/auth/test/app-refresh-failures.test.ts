import { RULES } from '@plainpath/domain'
import { openPool } from '@plainpath/postgres'
import { waitForBlockedSessions } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AppSystem,
  type AppTokens,
  connectApp,
  expectRevoked,
  findConnectionIds,
  isActiveAtEachInstance,
  readTokens,
  refresh,
  startAppSystem,
} from './app-flow.ts'
import { copyRefreshToken } from './copy-refresh-token.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectRefusal, INVALID_GRANT, UNAVAILABLE } from './expect-refusal.ts'

let system: AppSystem
beforeAll(async () => {
  system = await startAppSystem('Postgres')
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

/** The advisory lock for which a failing statement waits. */
const FAULT_LOCK = 1_234
/** The statements that store the results of a refresh, in their order. Each is a clause of `create trigger`. */
const SAVE_REFRESH_TOKEN = `before insert on oauth_records for each row when (new.id like 'RefreshToken:%')`
const SAVE_ACCESS_TOKEN = 'before insert on tokens for each row'
const MARK_USED = 'before update of consumed_at on oauth_records for each row'

/** Lets the next such statement fail as on a full disk, once it gets `FAULT_LOCK`. Later statements succeed. */
async function failNext(statement: string): Promise<AsyncDisposable> {
  const { testbed } = system.auth
  await testbed.runAsOwner(`
    create sequence statements;
    create function fail() returns trigger language plpgsql security definer as $$ begin
      if nextval('statements') = 1 then
        perform pg_advisory_xact_lock(${FAULT_LOCK});
        raise exception using errcode = 'disk_full';
      end if;
      return new;
    end $$;
    create trigger fail ${statement} execute function fail()`)
  const drop = () => testbed.runAsOwner('drop function fail cascade; drop sequence statements')
  return { [Symbol.asyncDispose]: drop }
}

const passGracePeriod = () => {
  system.clock.now = new Date(system.clock.now.getTime() + RULES.refreshGraceMs + 1)
}
const countEndMails = async () =>
  (await system.auth.testbed.db.query(`select from mails where kind = 'claim-ended'`)).rowCount ?? 0

/** Presents a used refresh token. Checks that this revokes its connection, and that the person gets a mail. */
async function expectReuseDetected(connected: Awaited<ReturnType<typeof connectApp>>, newTokens: AppTokens) {
  const { verificationId } = await findConnectionIds(system, newTokens.access)
  const mailCount = await countEndMails()
  expectProblem(await refresh(system.auth, connected.app, connected.refresh), INVALID_GRANT)
  for (const tokens of [connected, newTokens]) await expectRevoked(system, tokens)
  expect(await system.stores.verifications.find(verificationId)).toMatchObject({ endedBy: 'reused' })
  expect(await countEndMails()).toBe(mailCount + 1)
}

test.for<[string, string]>([
  ['the new refresh token', SAVE_REFRESH_TOKEN],
  ['the access token', SAVE_ACCESS_TOKEN],
  ['its use', MARK_USED],
])(
  'a refresh token stays unused if %s could not be stored, even if the app tries again after the grace period',
  async ([, statement]) => {
    const connected = await connectApp(system)
    const mailCount = await countEndMails()
    {
      await using _fault = await failNext(statement)
      expectProblem(await refresh(system.auth, connected.app, connected.refresh), UNAVAILABLE)
    }
    passGracePeriod()
    const newTokens = readTokens(
      system.auth,
      await refresh(system.otherInstance, connected.app, connected.refresh),
    )
    for (const { access } of [connected, newTokens])
      expect(await isActiveAtEachInstance(system, access)).toEqual([true, true])
    expect(await countEndMails()).toBe(mailCount)
    passGracePeriod()
    await expectReuseDetected(connected, newTokens)
  },
)

test('a refresh token is used after a successful refresh, even if a simultaneous refresh with it fails later', async () => {
  const connected = await connectApp(system)
  const { db, database } = system.auth.testbed
  await using _fault = await failNext(SAVE_ACCESS_TOKEN)
  await using session = openPool(database.appUrl, { max: 1, patience: 5 })
  await session.query('select pg_advisory_lock($1)', [FAULT_LOCK])
  const failingRefresh = refresh(system.auth, connected.app, connected.refresh)
  await waitForBlockedSessions(db, 1)
  const response = await refresh(system.otherInstance, connected.app, connected.refresh)
  const newTokens = readTokens(system.auth, response)
  await session.query('select pg_advisory_unlock($1)', [FAULT_LOCK])
  expectProblem(await failingRefresh, UNAVAILABLE)
  passGracePeriod()
  await expectReuseDetected(connected, newTokens)
})

test('failed refreshes do not count against the limit of refresh tokens', async () => {
  const connected = await connectApp(system)
  await copyRefreshToken(system.auth.testbed.db, connected.refresh, RULES.refreshTokens - 2)
  for (const statement of [SAVE_ACCESS_TOKEN, MARK_USED]) {
    await using _fault = await failNext(statement)
    expectProblem(await refresh(system.auth, connected.app, connected.refresh), UNAVAILABLE)
  }
  const newTokens = readTokens(system.auth, await refresh(system.auth, connected.app, connected.refresh))
  await expectRefusal(
    system.auth,
    () => refresh(system.auth, connected.app, newTokens.refresh),
    INVALID_GRANT,
  )
})
