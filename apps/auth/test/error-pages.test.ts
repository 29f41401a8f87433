import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { authorize, createExampleApp, generateRequestValues } from './app-flow.ts'
import { Browser } from './browser.ts'
import { type SignInSystem, startSignInSystem, Tab } from './sign-in-client.ts'
import { findHeading } from './verification-client.ts'

/*
 * The pages on which a person sees an error of auth. They are for people, so they must not repeat what the error tells API clients
 * to do next.
 */

let system: SignInSystem
beforeAll(async () => {
  system = await startSignInSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

/** Reads what the page tells the person to do next, under its own heading; undefined without the heading. */
const readNextStep = (page: string) => /<h2>What to do next<\/h2>\n<p>(.*)<\/p>/.exec(page)?.[1]

describe('the page of an error whose text says what to do has no other advice:', () => {
  test('a redirect URI that the app does not have', async () => {
    const app = createExampleApp()
    system.apps.set(app.id, app)
    const { status, text } = await authorize(new Browser(system.auth.url), app, generateRequestValues(), {
      redirect_uri: 'https://evil.example/callback',
    })
    expect([status, findHeading(text)]).toEqual([400, 'The request is not valid'])
    expect(text).toContain('Do not try again unless you know the app.')
    expect(readNextStep(text)).toBeUndefined()
  })

  test('a sign-in that has ended', async () => {
    const { status, text } = await new Browser(system.auth.url).open(`/oauth/authorize/${'x'.repeat(43)}`)
    expect(status).toBe(404)
    expect(text).toContain('Go back to the app, and connect again.')
    expect(readNextStep(text)).toBeUndefined()
  })
})

describe('the page of an error says what a person can do next:', () => {
  test('too many codes from a network', async () => {
    await using auth = await system.startAnother({ AUTH_LIMITS_FACTOR: '1' })
    for (let count = 0; count < 10; count += 1)
      expect((await (await Tab.open(system, { auth })).requestCode()).length).toBe(6)
    const tab = await Tab.open(system, { auth })
    const refusal = await tab.submit('email', { email: tab.email })
    expect(refusal.status).toBe(429)
    expect(refusal.text).toMatch(/Try again in \d+ seconds?\./)
    expect(readNextStep(refusal.text)).toMatch(/^Reload this page after this time\. If you sent a form,/)
  })

  test('a form of another site', async () => {
    const tab = await Tab.open(system)
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
      const { status, text } = await tab.submit('deny', {}, headers)
      expect(status).toBe(403)
      expect(readNextStep(text)).toMatch(
        /^Nothing was done\. If a page of another site brought you here, close it\./,
      )
    }
  })

  test('a path without a page, for which the advice is that of the API', async () => {
    const { status, text } = await new Browser(system.auth.url).open('/oauth/sign-in/a/b')
    expect(status).toBe(404)
    expect(readNextStep(text)).toMatch(/^Check the URL/)
  })
})
