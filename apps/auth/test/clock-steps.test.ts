import { expect, test, vi } from 'vitest'
import { deleteAgent, getToken, isActive, register, revoke } from './agent-client.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { startAuth } from './start-auth.ts'

vi.setConfig({ testTimeout: 60_000 })

test.for(TOKEN_PLACES)(
  'a clock that steps back and forward during requests revokes nothing and revives nothing: %s',
  async (tokens) => {
    let readings = 0
    const steps = [0, -10_000, 10_000, -1_000]
    const now = () => new Date(Date.now() + (steps[readings++ % steps.length] ?? 0))
    await using auth = await startAuth({ tokens, now })
    const agent = await register(auth)
    const issued = await Promise.all(Array.from({ length: 20 }, () => getToken(auth, agent)))
    const active = async () => Promise.all(issued.map((token) => isActive(auth, token)))
    expect(await active()).toEqual(Array(20).fill(true))
    const ended = issued.slice(0, 10)
    expect(await Promise.all(ended.map(async (token) => (await revoke(auth, agent, token)).status))).toEqual(
      Array(10).fill(200),
    )
    expect(await active()).toEqual([...Array(10).fill(false), ...Array(10).fill(true)])
    expect((await deleteAgent(auth, agent)).status).toBe(204)
    expect(await active()).toEqual(Array(20).fill(false))
    expect(readings).toBeGreaterThan(40)
  },
)
