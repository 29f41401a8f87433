import * as oauth from 'oauth4webapi'
import { describe, expect, test } from 'vitest'
import { basic, json } from '../send.ts'
import type { System } from './open-system.ts'

const insecure = { [oauth.allowInsecureRequests]: true } as const

/** Tests everything that an agent does, through the gateway, with a third-party client. */
export function describeJourney(running: () => System): void {
  describe('through the gateway, an agent', () => {
    test('registers, discovers, gets a token, reads guides, puts a person on the waitlist, and revokes', async () => {
      const system = running()
      const agent = await system.register()
      const issuer = new URL(system.origin)
      const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
      const server = await oauth.processDiscoveryResponse(issuer, discovered)
      const client = { client_id: agent.client_id }
      const authentication = oauth.ClientSecretBasic(agent.client_secret)
      const granted = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        authentication,
        new URLSearchParams(),
        insecure,
      )
      const { access_token } = await oauth.processClientCredentialsResponse(server, client, granted)
      system.confidential.add(access_token)
      expect(access_token).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)

      const sender = system.client({ from: '127.0.0.2' })
      const bearer = { authorization: `Bearer ${access_token}` }
      const list = await sender.send({ path: '/api/guides', headers: bearer })
      const [first] = (JSON.parse(list.text) as { guides: { slug: string }[] }).guides
      const guide = await sender.send({ path: `/api/guides/${first?.slug}`, headers: bearer })
      expect(JSON.parse(guide.text)).toMatchObject({ slug: first?.slug, language: 'en' })

      const email = system.newEmail()
      const join = () => sender.send({ method: 'POST', path: '/api/waitlist', ...json({ email }) })
      expect([(await join()).status, (await join()).status]).toEqual([201, 200])

      const revoked = await oauth.revocationRequest(server, client, authentication, access_token, insecure)
      await oauth.processRevocationResponse(revoked)
      const dead = await sender.send({ path: '/api/guides', headers: bearer })
      expect(dead.status).toBe(401)
      expect(dead.headers.get('www-authenticate')).toContain(
        `resource_metadata="${system.origin}/.well-known/`,
      )
      expect((await sender.send({ path: '/api/guides' })).status).toBe(200)
    })

    test('deletes itself, and both API processes then reject its tokens', async () => {
      const system = running()
      const agent = await system.register()
      const token = await system.token(agent)
      const processes = system.stack.resource.map(({ ports }) =>
        system.client({ url: `http://127.0.0.1:${ports.public}` }),
      )
      const host = new URL(system.origin).host
      const read = () =>
        Promise.all(
          processes.map(async (each) => {
            const headers = { host, authorization: `Bearer ${token}` }
            return (await each.send({ path: '/api/guides', headers })).status
          }),
        )
      expect(await read()).toEqual([200, 200])
      const credentials = basic(agent.client_id, agent.client_secret)
      const ended = await system.client().send({ method: 'DELETE', path: '/api/agent', headers: credentials })
      expect(ended.status).toBe(204)
      expect(await read()).toEqual([401, 401])
      expect((await system.client().send({ path: '/api/agent', headers: credentials })).status).toBe(401)
    })
  })
}
