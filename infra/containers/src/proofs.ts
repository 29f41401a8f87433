import { setTimeout as sleep } from 'node:timers/promises'
import {
  evaluateInContainer,
  expectEqual,
  INSTANCES,
  NODE,
  type ResultRow,
  type RunningTopology,
  waitFor,
} from './proof.ts'

/** The command line of auth in its image. */
const AUTH_COMMAND = [NODE, '--disable-proto=throw', 'auth.mjs']

/**
 * Proves that auth has a way out of its networks and the API has none, that the gateway cannot resolve the name of PostgreSQL, and
 * which addresses the network `front` assigns.
 */
export async function proveNetworks(running: RunningTopology): Promise<ResultRow[]> {
  // In /proc/net/route, a default route has the destination 0.0.0.0, in hexadecimal.
  const printHasDefaultRoute = `console.log(fs.readFileSync('/proc/net/route', 'utf8').split('\\n').some((line) => line.split('\\t')[1] === '00000000'))`
  for (const name of ['resource-1', 'resource-2'])
    expectEqual(
      `${name} has a route out`,
      await evaluateInContainer(running, name, printHasDefaultRoute),
      'false',
    )
  expectEqual(
    'auth-1 has a route out, for documents of clients',
    await evaluateInContainer(running, 'auth-1', printHasDefaultRoute),
    'true',
  )
  const { engine } = running
  const gateway = await engine.tryPodman('exec', 'gateway', 'getent', 'hosts', 'postgres')
  if (gateway.code === 0) throw new Error('the gateway resolves the name of PostgreSQL')
  // compose.yaml fixes the address of the gateway, and takes those of the instances from the upper half of the subnet.
  const format = '{{(index .NetworkSettings.Networks "plainpath_front").IPAddress}}'
  const findAddress = (name: string) => engine.podman('inspect', '--format', format, name)
  expectEqual('the address of the gateway', await findAddress('gateway'), '172.30.80.2')
  for (const name of INSTANCES) {
    const lastByte = Number((await findAddress(name)).split('.').at(-1))
    if (lastByte < 128) throw new Error(`${name} has an address outside the range`)
  }
  return [
    {
      subject: 'way out of the networks',
      observed: 'the API has no default route; auth has one, for documents of clients',
    },
    { subject: 'the gateway and PostgreSQL', observed: 'the name does not resolve' },
    {
      subject: 'addresses in the network `front`',
      observed: 'gateway 172.30.80.2; instances from `ip_range`, .128 and above',
    },
  ]
}

const createBasicHeader = (id: string, secret: string) => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
})

/** Registers an agent and returns functions that send its requests. */
async function registerAgent({ origin }: RunningTopology) {
  const registration = await fetch(`${origin}/api/agent/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Container test' }),
  })
  expectEqual('registration', registration.status, 201)
  const agent = (await registration.json()) as { client_id: string; client_secret: string }
  const headers = createBasicHeader(agent.client_id, agent.client_secret)
  return {
    async requestToken(): Promise<string> {
      const body = new URLSearchParams({ grant_type: 'client_credentials' })
      const response = await fetch(`${origin}/oauth/token`, { method: 'POST', headers, body })
      expectEqual('token request', response.status, 200)
      return ((await response.json()) as { access_token: string }).access_token
    },
    async revoke(token: string): Promise<void> {
      const body = new URLSearchParams({ token })
      const response = await fetch(`${origin}/oauth/revoke`, { method: 'POST', headers, body })
      expectEqual('revocation', response.status, 200)
    },
  }
}

/**
 * Sends a request with the token inside the container of each API instance, and one through the gateway. Returns the statuses.
 * Repeats a request that gets a 503, as clients do, since a busy machine can cause one.
 */
async function requestAtEachInstance(
  running: RunningTopology,
  token: string,
  instances: readonly string[] = ['resource-1', 'resource-2'],
): Promise<number[]> {
  const { host } = new URL(running.origin)
  const code = `require('http').get({ port: 8082, path: '/api/guides', headers: { host: '${host}', authorization: 'Bearer ' + process.argv[1] } }, (r) => console.log(r.statusCode))`
  const headers = { authorization: `Bearer ${token}` }
  const senders = [
    ...instances.map(
      (name) => async () => Number(await running.topology.exec(name, NODE, '-e', code, token)),
    ),
    async () => (await fetch(`${running.origin}/api/guides`, { headers })).status,
  ]
  return Promise.all(
    senders.map((send) =>
      waitFor('a response other than 503', async () => {
        const status = await send()
        return status === 503 ? undefined : status
      }),
    ),
  )
}

/** Proves an agent's journey through the gateway, and the delivery of a mail over STARTTLS. */
export async function proveJourney(running: RunningTopology): Promise<ResultRow[]> {
  const { origin, mailUrl } = running
  const agent = await registerAgent(running)
  const token = await agent.requestToken()
  expectEqual('with a token', await requestAtEachInstance(running, token), [200, 200, 200])
  const { guides } = (await (await fetch(`${origin}/api/guides`)).json()) as { guides: { slug: string }[] }
  const guide = await fetch(`${origin}/api/guides/${guides[0]?.slug}`)
  expectEqual('a guide', guide.status, 200)
  const page = await fetch(`${origin}/`, { headers: { accept: 'text/html' } })
  expectEqual('the home page', page.status, 200)
  const answer = await fetch(`${origin}/api/answers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ question: 'How do I renew my green card?' }),
  })
  expectEqual('an answer', answer.status, 200)
  const email = 'container-test@example.org'
  const joinWaitlist = () =>
    fetch(`${origin}/api/waitlist`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    })
  expectEqual(
    'joining the waitlist twice',
    [(await joinWaitlist()).status, (await joinWaitlist()).status],
    [201, 200],
  )
  await waitFor('the mail', async () => {
    const mails = (await (await fetch(mailUrl)).json()) as { to: string[] }[]
    return mails.find(({ to }) => to.includes(email))
  })
  return [
    {
      subject: 'register, get a token, read guides, ask a question, the home page',
      observed: `201 and 200; ${guides.length} guides`,
    },
    { subject: 'join the waitlist, and again', observed: '201, 200; the mail came over STARTTLS' },
  ]
}

/**
 * Proves the revocation of one token, and of all tokens.
 *
 * @param containers the container names of each app; by default those of compose.yaml
 */
export async function proveRevocation(
  running: RunningTopology,
  containers?: { readonly auth: readonly string[]; readonly resource: readonly string[] },
): Promise<ResultRow[]> {
  const authContainer = containers?.auth[0] ?? 'auth-1'
  const listStatuses = (token: string) => requestAtEachInstance(running, token, containers?.resource)
  const agent = await registerAgent(running)
  const revokedToken = await agent.requestToken()
  const otherToken = await agent.requestToken()
  expectEqual('before', await listStatuses(revokedToken), [200, 200, 200])
  await agent.revoke(revokedToken)
  expectEqual('after the revocation', await listStatuses(revokedToken), [401, 401, 401])
  expectEqual('the other token', await listStatuses(otherToken), [200, 200, 200])
  const command = [...AUTH_COMMAND, 'stop', '--all-tokens', '--reason', 'container test']
  // A connection to a store can time out just after containers have started. So the command is repeated until it succeeds.
  await waitFor('`stop --all-tokens`', async () =>
    (await running.engine.tryPodman('exec', authContainer, ...command)).code === 0 ? true : undefined,
  )
  expectEqual('after `stop --all-tokens`', await listStatuses(otherToken), [401, 401, 401])
  expectEqual('a new token', await listStatuses(await agent.requestToken()), [200, 200, 200])
  return [
    {
      subject: 'a revoked token at both instances of the API and the gateway',
      observed: '401; another token 200',
    },
    { subject: '`stop --all-tokens` in a container', observed: '401 everywhere; a new token 200' },
  ]
}

/** Proves that the signing key can be rotated, and the old one revoked, while everything runs. */
export async function proveRotation(running: RunningTopology): Promise<ResultRow[]> {
  const { origin, topology } = running
  // Retries while this address exceeds its rate limit.
  const listKids = () =>
    waitFor('a response with the key set', async () => {
      const response = await fetch(`${origin}/oauth/jwks.json`)
      if (!response.ok) return undefined
      const { keys } = (await response.json()) as { keys: { kid: string }[] }
      return keys.map(({ kid }) => kid)
    })
  const agent = await registerAgent(running)
  const token = await agent.requestToken()
  const kidsBefore = await listKids()
  // The first run generates the new key before it is due, and the second publishes the key.
  await topology.runOnce('auth-keys', 'keys', 'rotate', '--now')
  await topology.runOnce('auth-keys', 'keys', 'rotate')
  const bothKids = await waitFor('a second key in the key set', async () => {
    const kids = await listKids()
    return kids.length === 2 ? kids : undefined
  })
  expectEqual(
    'tokens while both keys are published',
    await requestAtEachInstance(running, token),
    [200, 200, 200],
  )
  const [leakedKid = ''] = kidsBefore
  await topology.exec('auth-1', ...AUTH_COMMAND, 'keys', 'revoke', leakedKid, '--reason', 'container test')
  const remainingKids = bothKids.filter((kid) => kid !== leakedKid)
  await waitFor('the removal of the old key from the key set', async () =>
    (await listKids()).includes(leakedKid) ? undefined : true,
  )
  expectEqual('the key set', await listKids(), remainingKids)
  expectEqual(
    'tokens after the revocation of the key',
    await requestAtEachInstance(running, token),
    [200, 200, 200],
  )
  expectEqual('new tokens', await requestAtEachInstance(running, await agent.requestToken()), [200, 200, 200])
  return [
    {
      subject: '`keys rotate --now`, then `keys rotate`, as jobs of their own',
      observed: 'two keys in the key set; tokens 200',
    },
    {
      subject: '`keys revoke` of the old key',
      observed: 'only the new key in the key set; old and new tokens 200',
    },
  ]
}

/** Sends requests until ten in a row succeed. Each begins half a second after the previous response. */
export async function waitUntilSteady(url: string): Promise<void> {
  let successCount = 0
  await waitFor(`ten good responses in a row from ${url}`, async () => {
    successCount = (await fetch(url)).ok ? successCount + 1 : 0
    return successCount === 10 ? true : undefined
  })
}

/** Proves that one instance of each app stops on SIGTERM without a failed request, and starts again. */
export async function proveStop(running: RunningTopology): Promise<ResultRow[]> {
  const { engine, topology, origin } = running
  const proofs: ResultRow[] = []
  for (const name of ['auth-1', 'resource-1']) {
    const url = name.startsWith('auth') ? `${origin}/oauth/jwks.json` : `${origin}/api/guides`
    // Podman's network names resolve again only some seconds after a container has started or stopped.
    await waitUntilSteady(url)
    // The status 0 stands for a request without a response.
    const statusCounts = new Map<number, number>()
    const failedBodies: string[] = []
    let isLoadRunning = true
    // The pause keeps the load below the rate limits of one address.
    const load = Array.from({ length: 2 }, async () => {
      while (isLoadRunning) {
        const [status, body] = await fetch(url).then(
          async (response) => [response.status, await response.text()] as const,
          (error: unknown) => [0, String(error)] as const,
        )
        statusCounts.set(status, (statusCounts.get(status) ?? 0) + 1)
        if (status !== 200) failedBodies.push(body)
        await sleep(500)
      }
    })
    const stopRequestedAt = performance.now()
    await engine.podman('stop', '--time', '30', name)
    const seconds = (performance.now() - stopRequestedAt) / 1000
    isLoadRunning = false
    await Promise.all(load)
    const code = await engine.podman('inspect', '--format', '{{.State.ExitCode}}', name)
    expectEqual(`the exit code of ${name}`, code, '0')
    expectEqual(`failed responses while ${name} stopped`, failedBodies, [])
    const startedAt = performance.now()
    await engine.podman('start', name)
    await topology.waitUntilHealthy(name)
    const readySeconds = (performance.now() - startedAt) / 1000
    proofs.push({
      subject: `SIGTERM to ${name} under requests`,
      observed: `exit 0 after ${seconds.toFixed(1)} s, all ${statusCounts.get(200)} responses 200; ready again after ${readySeconds.toFixed(1)} s`,
    })
  }
  return proofs
}
