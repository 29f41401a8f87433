import { renderPage } from '@plainpath/pages'
import { HtmlValidate } from 'html-validate'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FORM_AND_MAIL_PAGES } from '../pages/form-and-mail-pages.ts'
import { EXAMPLE_QUESTIONS, SITE_PAGES } from '../pages/site-pages.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

const validator = new HtmlValidate({ extends: ['html-validate:standard', 'html-validate:a11y'] })

/** Returns one line for each violation: the rule, the message, and the position. */
async function findViolations(markup: string): Promise<string[]> {
  const { results } = await validator.validateString(markup)
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line, column }) => `${ruleId}: ${message} (${line}:${column})`),
  )
}

test.for(Object.entries(SITE_PAGES))('the page %s is valid HTML', async ([, address]) => {
  const response = await fetch(`${system.origin}${address}`, { headers: { accept: 'text/html' } })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(await findViolations(await response.text())).toEqual([])
})

const FORMS: [address: string, fields: Record<string, string>][] = [
  ['/ask', { question: '' }],
  ...Object.values(EXAMPLE_QUESTIONS).map((question): [string, Record<string, string>] => [
    '/ask',
    { question },
  ]),
  ['/waitlist', { email: 'nobody' }],
  ['/waitlist', { email: 'ana@example.org' }],
  ['/contact', {}],
]

test.for(FORMS)('the response of %s to %j is valid HTML', async ([address, fields]) => {
  const response = await fetch(`${system.origin}${address}`, {
    method: 'POST',
    headers: { accept: 'text/html', origin: system.origin },
    body: new URLSearchParams(fields),
  })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(await findViolations(await response.text())).toEqual([])
})

test.for(Object.entries(FORM_AND_MAIL_PAGES))(
  'the page %s, to which a form, a sign-in or a mailed link leads, is valid HTML',
  async ([, body]) => {
    const { origin } = system
    expect(
      await findViolations(renderPage({ origin, path: '/claim', title: 'A page', body, noindex: true })),
    ).toEqual([])
  },
)

test('the validator finds a violation in invalid HTML', async () => {
  const invalidPage = '<!doctype html><html lang="en"><body><p><div></p></body></html>'
  expect(await findViolations(invalidPage)).not.toEqual([])
})
