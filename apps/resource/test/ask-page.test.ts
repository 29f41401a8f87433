import { listGuideSections, loadGuides } from '@plainpath/guides'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runResource } from './run-resource.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const RENEW = 'When do I renew my green card?'
const ICE = 'ICE took my brother this morning. Where is he?'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const get = (path: string) => sendRequest(api.origin, { path, headers: { accept: 'text/html' } })
const send = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  sendRequest(api.origin, {
    method: 'POST',
    path: '/ask',
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })
const heading = (markup: string) => /<h1>([^<]*)<\/h1>/.exec(markup)?.[1]

test('the form is on the home page and on /ask, posts the question, and no page has a field that GETs it', async () => {
  for (const path of ['/', '/ask']) {
    const { status, body } = await get(path)
    expect(status).toBe(200)
    expect(body).toMatch(/<form class="form ask" action="\/ask" method="post"/)
  }
  expect((await get('/ask?question=hello')).body).not.toContain('hello')
})

describe('the form gets an answer', () => {
  test('with passages, sources, questions to say yes or no to, and a link to report a mistake', async () => {
    const { status, headers, body } = await send({ question: RENEW })
    expect(status).toBe(200)
    expect(headers['cache-control']).toBe('no-store')
    expect(heading(body)).toBe('Our answer')
    expect(body).toMatch(/<h2 id="passage-1">[^<]+<\/h2>/)
    expect(body).toContain('href="#source-1-1"')
    expect(body).toContain('id="source-1-1"')
    expect(body).toMatch(/<input name="long-absence" type="radio" value="yes">/)
    expect(body).toMatch(/href="\/contact\?passage=renew-green-card%23[a-z-]+"/)
    expect(body).toMatch(/noindex/)
    expect(body).toContain('<title>Ask a question – Plainpath</title>')
    expect(body).toMatch(/<form class="form ask" action="\/ask" method="post" autocomplete="off"/)
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
  })

  test('a yes leads to the hand-off, even with other buttons pressed; a no removes the question', async () => {
    const yes = await send({ question: RENEW, 'long-absence': 'yes', none: 'long-absence' })
    expect(heading(yes.body)).toBe('Talk to an attorney about this')
    const no = await send({ question: RENEW, 'long-absence': 'no' })
    expect(heading(no.body)).toBe('Our answer')
    expect(no.body).toContain('<input name="long-absence" type="hidden" value="no">')
    expect(no.body).not.toContain('name="long-absence" type="radio"')
  })

  test('with “none of these applies”, until no question is left', async () => {
    const fields: Record<string, string> = { question: RENEW }
    for (let round = 0; round < 6; round++) {
      const { body } = await send(fields)
      const none = /name="none" value="([^"]+)"/.exec(body)?.[1]
      if (none === undefined) {
        expect(body).toContain('None of these applies to you')
        return
      }
      for (const trigger of none.split(' ')) fields[trigger] = 'no'
    }
    throw new Error('the questions never end')
  })

  test('with an urgent hand-off first: phone numbers at the top, and a form to our staff without the question', async () => {
    const { body } = await send({ question: ICE })
    expect(heading(body)).toBe('Get help today')
    expect(body.indexOf(ICE)).toBeLessThan(body.indexOf('href="tel:'))
    expect(body.indexOf('href="tel:')).toBeLessThan(body.indexOf('Why you need an attorney'))
    expect(body.indexOf('href="tel:')).toBeGreaterThan(0)
    const form = /<form class="form" action="\/contact"[\s\S]*?<\/form>/.exec(body)?.[0] ?? ''
    expect(form).toContain('<input name="trigger" type="hidden" value="detention-ice">')
    expect(form).toContain('<input name="topic" type="hidden" value="attorney">')
    expect(form).toMatch(/<input id="handOff" name="handOff" type="checkbox" value="yes"(?![^>]* checked)/)
    expect(form).not.toContain('brother')
  })

  test('with the reason that no guide answers, in two languages for a question in Spanish', async () => {
    const { body } = await send({ question: '¿Cuándo puedo renovar mi tarjeta de residencia permanente?' })
    expect(heading(body)).toBe('Our guides do not answer this')
    expect(body).toMatch(/<p lang="es">.+<\/p>/)
    expect(body).toMatch(/<p lang="en">.+<\/p>/)
    expect(body).toContain('href="tel:911"')
  })

  test('with the mistake at the top and beside the field, and the typed text in it', async () => {
    for (const question of ['', ' \n ', 'x'.repeat(1_001)]) {
      const { status, body } = await send({ question })
      expect(status).toBe(400)
      expect(body).toContain('href="#question"')
      expect(body).toContain('aria-invalid="true"')
      expect(body).toContain(question.trim())
    }
  })

  test('but 403 for a request from another site', async () => {
    const refused = await send({ question: RENEW }, { 'sec-fetch-site': 'cross-site' })
    expect(refused.status).toBe(403)
  })

  test('with markup in the question shown as text', async () => {
    const { body } = await send({ question: '<b>When</b> do I renew my green card?"><img src=x>' })
    expect(body).not.toMatch(/<b>|<img/)
  })

  test('with help while answers are paused', async () => {
    const settings = { RESOURCE_DATABASE_URL: api.databaseUrl }
    await runResource(['answers', 'pause'], settings)
    await expect.poll(async () => (await send({ question: RENEW })).status).toBe(503)
    const { body } = await send({ question: RENEW })
    expect(heading(body)).toBe('We cannot answer questions right now')
    expect(body).toContain('href="tel:911"')
    await runResource(['answers', 'resume'], settings)
    await expect.poll(async () => (await send({ question: RENEW })).status).toBe(200)
  })
})

test('every section has an anchor on the page of its guide, to which answers link', async () => {
  for (const guide of loadGuides()) {
    const { body } = await get(`/guides/${guide.slug}`)
    for (const { key } of listGuideSections(guide).filter((section) => section.key !== 'intro'))
      expect(body).toContain(`<h2 id="${key}">`)
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
  }
})

describe('the link to report a mistake', () => {
  test('opens the form with the passage, and nothing else', async () => {
    const guide = loadGuides().find(({ slug }) => slug === 'renew-green-card')
    const section = guide && listGuideSections(guide).find(({ key }) => key !== 'intro')
    const { body } = await get(`/contact?passage=${encodeURIComponent(section?.id ?? '')}`)
    expect(body).toMatch(/<input [^>]*name="topic" type="radio" value="correction"[^>]* checked>/)
    expect(body).toContain(`>About “${section?.heading}” (${section?.id}):\n\n</textarea>`)
  })

  test.for(['nothing%23here', 'work-permit%23nothing', '%3Cb%3E'])(
    'leaves the message empty for %s',
    async (passage) => {
      const { status, body } = await get(`/contact?passage=${passage}`)
      expect(status).toBe(200)
      expect(body).toMatch(/<textarea[^>]*><\/textarea>/)
    },
  )
})
