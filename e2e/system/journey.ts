import * as oauth from 'oauth4webapi'
import { describe, expect, test } from 'vitest'
import { basic, json } from '../send.ts'
import type { System } from './open-system.ts'

/** Lets `oauth4webapi` send requests without TLS, which the tested service does not have. */
const ALLOW_HTTP = { [oauth.allowInsecureRequests]: true } as const

/** Tests, through the gateway, what an agent does from its registration to its deletion. */
export function describeJourney(getSystem: () => System): void {
  describe('through the gateway, an agent', () => {
    test('registers, discovers, gets a token, reads guides, puts a person on the waitlist, and revokes the token', async () => {
      const system = getSystem()
      const agent = await system.register()
      const issuer = new URL(system.origin)
      const discoveryResponse = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...ALLOW_HTTP })
      const server = await oauth.processDiscoveryResponse(issuer, discoveryResponse)
      const client = { client_id: agent.client_id }
      const authentication = oauth.ClientSecretBasic(agent.client_secret)
      const tokenResponse = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        authentication,
        new URLSearchParams(),
        ALLOW_HTTP,
      )
      const { access_token } = await oauth.processClientCredentialsResponse(server, client, tokenResponse)
      system.confidential.add(access_token)
      expect(access_token).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)

      const sender = system.createSender({ from: '127.0.0.2' })
      const bearer = { authorization: `Bearer ${access_token}` }
      const list = await sender.send({ path: '/api/guides', headers: bearer })
      const [firstGuide] = (JSON.parse(list.text) as { guides: { slug: string }[] }).guides
      const guide = await sender.send({ path: `/api/guides/${firstGuide?.slug}`, headers: bearer })
      expect(JSON.parse(guide.text)).toMatchObject({ slug: firstGuide?.slug, language: 'en' })

      const email = system.createEmail()
      const join = () => sender.send({ method: 'POST', path: '/api/waitlist', ...json({ email }) })
      expect([(await join()).status, (await join()).status]).toEqual([201, 200])

      const revocationResponse = await oauth.revocationRequest(
        server,
        client,
        authentication,
        access_token,
        ALLOW_HTTP,
      )
      await oauth.processRevocationResponse(revocationResponse)
      const refusal = await sender.send({ path: '/api/guides', headers: bearer })
      expect(refusal.status).toBe(401)
      expect(refusal.headers.get('www-authenticate')).toContain(
        `resource_metadata="${system.origin}/.well-known/`,
      )
      expect((await sender.send({ path: '/api/guides' })).status).toBe(200)
    })

    test('deletes itself, and both API processes then reject its token', async () => {
      const system = getSystem()
      const agent = await system.register()
      const token = await system.issueToken(agent)
      const processes = system.stack.resource.map(({ ports }) =>
        system.createSender({ url: `http://127.0.0.1:${ports.public}` }),
      )
      const host = new URL(system.origin).host
      const readAtEachProcess = () =>
        Promise.all(
          processes.map(async (each) => {
            const headers = { host, authorization: `Bearer ${token}` }
            return (await each.send({ path: '/api/guides', headers })).status
          }),
        )
      expect(await readAtEachProcess()).toEqual([200, 200])
      const credentials = basic(agent.client_id, agent.client_secret)
      const deletion = await system
        .createSender()
        .send({ method: 'DELETE', path: '/api/agent', headers: credentials })
      expect(deletion.status).toBe(204)
      expect(await readAtEachProcess()).toEqual([401, 401])
      expect((await system.createSender().send({ path: '/api/agent', headers: credentials })).status).toBe(
        401,
      )
    })
  })
}
