import { startRedis } from '@plainpath/http/testing/start-redis'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { deleteAgent, getToken, isActive, register, requestToken, revoke } from './agent-client.ts'
import { openAuthTestbed } from './open-auth-testbed.ts'
import { send } from './send.ts'
import { startInstance } from './start-auth.ts'

const ADDRESS = '203.0.113.77'

test('no command and no slow log entry of Redis contains a token, a secret, a name or an address', async () => {
  await using testbed = await openAuthTestbed()
  // With 0, Redis logs every command as slow. The log has room for all commands of this test.
  await using redis = await startRedis({ 'slowlog-log-slower-than': '0', 'slowlog-max-len': '10000' })
  const admin = new Redis(redis.url)
  const monitor = await new Redis(redis.url).monitor()
  const commands: string[] = []
  monitor.on('monitor', (_time: string, command: string[]) => void commands.push(command.join(' ')))
  try {
    await using auth = await startInstance(testbed, {
      env: { AUTH_REDIS_URL: redis.url, AUTH_LIMITS_FACTOR: '1', AUTH_TRUSTED_PROXIES: '127.0.0.1' },
    })
    await send(auth.url, { path: '/oauth/jwks.json', headers: { 'x-forwarded-for': ADDRESS } })
    const agent = await register(auth, 'Canary of Redis')
    const tokens = [await getToken(auth, agent), await getToken(auth, agent)]
    expect(await isActive(auth, tokens[0]!)).toBe(true)
    await requestToken(auth, { ...agent, client_secret: 'pps_a-wrong-canary' })
    await revoke(auth, agent, tokens[0]!)
    expect(await isActive(auth, tokens[0]!)).toBe(false)
    await deleteAgent(auth, agent)
    // Waits until the monitor has reported a command about a token and, later, one about a credential version.
    await expect.poll(() => commands.join('\n')).toMatch(/token:.*\n(.*\n)*.*generation:/)
    const slowLog = JSON.stringify(await admin.slowlog('GET', 10_000))
    expect(slowLog).toContain('token:')
    const redisOutput = [...commands, slowLog, String(await admin.call('LATENCY', 'LATEST'))].join('\n')
    const confidentialTexts = [
      ...auth.confidential,
      agent.client_secret,
      ...tokens.map((token) => token.slice('ppt_'.length)),
      // Matches `Canary` and `canary`.
      'anary',
    ]
    expect([...confidentialTexts, ADDRESS].filter((text) => redisOutput.includes(text))).toEqual([])
  } finally {
    monitor.disconnect()
    admin.disconnect()
  }
})
