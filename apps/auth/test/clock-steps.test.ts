import { expect, test } from 'vitest'
import { deleteAgent, getToken, isActive, register, revoke } from './agent-client.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { startAuth } from './start-auth.ts'

/** The clock of the test steps between 10 s slow and 10 s fast. */
const CLOCK_TOLERANCE_SECONDS = 20

test.for(TOKEN_STORES)(
  'a clock that steps back and forward neither revokes tokens nor makes revoked ones valid, tokens in %s',
  async (tokenStore) => {
    let readings = 0
    // Each reading of the clock adds the next of these offsets to the real time.
    const offsetsMs = [0, -10_000, 10_000, -1_000]
    const now = () => new Date(Date.now() + (offsetsMs[readings++ % offsetsMs.length] ?? 0))
    await using auth = await startAuth({ tokenStore, now })
    const agent = await register(auth)
    const issuedTokens = await Promise.all(Array.from({ length: 20 }, () => getToken(auth, agent)))
    const checkAllTokens = async () =>
      Promise.all(issuedTokens.map((token) => isActive(auth, token, CLOCK_TOLERANCE_SECONDS)))
    expect(await checkAllTokens()).toEqual(Array(20).fill(true))
    const tokensToRevoke = issuedTokens.slice(0, 10)
    const responses = await Promise.all(tokensToRevoke.map((token) => revoke(auth, agent, token)))
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await checkAllTokens()).toEqual([...Array(10).fill(false), ...Array(10).fill(true)])
    expect((await deleteAgent(auth, agent)).status).toBe(204)
    expect(await checkAllTokens()).toEqual(Array(20).fill(false))
    // Shows that the instance used the stepping clock throughout.
    expect(readings).toBeGreaterThan(40)
  },
)
