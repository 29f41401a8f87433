import { listGuideSections, loadGuides } from '@plainpath/guides'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runResource } from './run-resource.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const RENEWAL = 'When do I renew my green card?'
const DETENTION = 'ICE took my brother this morning. Where is he?'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const get = (path: string) => sendRequest(api.origin, { path, headers: { accept: 'text/html' } })
const postForm = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  sendRequest(api.origin, {
    method: 'POST',
    path: '/ask',
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })
const findHeading = (markup: string) => /<h1>([^<]*)<\/h1>/.exec(markup)?.[1]

test('the home page and /ask have a form that posts the question, and /ask ignores a question in its URL', async () => {
  for (const path of ['/', '/ask']) {
    const { status, body } = await get(path)
    expect(status).toBe(200)
    expect(body).toMatch(/<form class="form ask" action="\/ask" method="post"/)
  }
  expect((await get('/ask?question=hello')).body).not.toContain('hello')
})

describe('the answer page', () => {
  test('has passages, sources, yes-or-no questions, and a link to report a mistake', async () => {
    const { status, headers, body } = await postForm({ question: RENEWAL })
    expect(status).toBe(200)
    expect(headers['cache-control']).toBe('no-store')
    expect(findHeading(body)).toBe('Our answer')
    expect(body).toMatch(/<h2 id="passage-1">[^<]+<\/h2>/)
    expect(body).toContain('href="#source-1-1"')
    expect(body).toContain('id="source-1-1"')
    expect(body).toMatch(/<input name="long-absence" type="radio" value="yes">/)
    expect(body).toMatch(/href="\/contact\?passage=renew-green-card%23[a-z-]+"/)
    expect(body).toMatch(/noindex/)
    expect(body).toContain('<title>Ask a question – Plainpath</title>')
    expect(body).toMatch(/<form class="form ask" action="\/ask" method="post" autocomplete="off"/)
    // No id occurs twice.
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
  })

  test('is a hand-off after a yes, even together with “none of these applies”; a no removes the question', async () => {
    const afterYes = await postForm({ question: RENEWAL, 'long-absence': 'yes', none: 'long-absence' })
    expect(findHeading(afterYes.body)).toBe('Talk to an attorney about this')
    const afterNo = await postForm({ question: RENEWAL, 'long-absence': 'no' })
    expect(findHeading(afterNo.body)).toBe('Our answer')
    expect(afterNo.body).toContain('<input name="long-absence" type="hidden" value="no">')
    expect(afterNo.body).not.toContain('name="long-absence" type="radio"')
  })

  test('still asks a question whose field is neither yes nor no', async () => {
    const { body } = await postForm({ question: RENEWAL, 'long-absence': 'maybe' })
    expect(body).toContain('name="long-absence" type="radio"')
  })

  test('offers “none of these applies” until no question is left', async () => {
    const fields: Record<string, string> = { question: RENEWAL }
    for (let round = 0; round < 6; round++) {
      const { body } = await postForm(fields)
      const none = /name="none" value="([^"]+)"/.exec(body)?.[1]
      if (none === undefined) {
        expect(body).toContain('None of these applies to you')
        return
      }
      for (const trigger of none.split(' ')) fields[trigger] = 'no'
    }
    throw new Error('questions were left after six rounds')
  })

  test('of an urgent hand-off begins with phone numbers, and has a contact form without the question', async () => {
    const { body } = await postForm({ question: DETENTION })
    expect(findHeading(body)).toBe('Get help today')
    expect(body.indexOf(DETENTION)).toBeLessThan(body.indexOf('href="tel:'))
    expect(body.indexOf('href="tel:')).toBeLessThan(body.indexOf('Why you need an attorney'))
    expect(body.indexOf('href="tel:')).toBeGreaterThan(0)
    const form = /<form class="form" action="\/contact"[\s\S]*?<\/form>/.exec(body)?.[0] ?? ''
    expect(form).toContain('<input name="trigger" type="hidden" value="detention-ice">')
    expect(form).toContain('<input name="topic" type="hidden" value="attorney">')
    // The checkbox is not checked: only the person may consent to share the reasons.
    expect(form).toMatch(/<input id="handOff" name="handOff" type="checkbox" value="yes"(?![^>]* checked)/)
    expect(form).not.toContain('brother')
  })

  test('says that no guide answers, in Spanish and English for a question in Spanish', async () => {
    const { body } = await postForm({
      question: '¿Cuándo puedo renovar mi tarjeta de residencia permanente?',
    })
    expect(findHeading(body)).toBe('Our guides do not answer this')
    expect(body).toMatch(/<p lang="es">.+<\/p>/)
    expect(body).toMatch(/<p lang="en">.+<\/p>/)
    expect(body).toContain('href="tel:911"')
  })

  test('is 400 for an empty or too long question, and shows the mistake with the typed text', async () => {
    for (const question of ['', ' \n ', 'x'.repeat(1_001)]) {
      const { status, body } = await postForm({ question })
      expect(status).toBe(400)
      expect(body).toContain('href="#question"')
      expect(body).toContain('aria-invalid="true"')
      expect(body).toContain(question.trim())
    }
  })

  test('is 403 for a request from another site', async () => {
    const refusal = await postForm({ question: RENEWAL }, { 'sec-fetch-site': 'cross-site' })
    expect(refusal.status).toBe(403)
  })

  test('shows markup in the question as text', async () => {
    const { body } = await postForm({ question: '<b>When</b> do I renew my green card?"><img src=x>' })
    expect(body).not.toMatch(/<b>|<img/)
  })

  test('is 503 with help while answers are paused', async () => {
    const settings = { RESOURCE_DATABASE_URL: api.databaseUrl }
    await runResource(['answers', 'pause'], settings)
    await expect.poll(async () => (await postForm({ question: RENEWAL })).status).toBe(503)
    const { body, headers } = await postForm({ question: RENEWAL })
    expect(headers['retry-after']).toBe('300')
    expect(findHeading(body)).toBe('We cannot answer questions right now')
    expect(body).toContain('href="tel:911"')
    await runResource(['answers', 'resume'], settings)
    await expect.poll(async () => (await postForm({ question: RENEWAL })).status).toBe(200)
  })
})

test('every section except the introduction has a heading on the page of its guide, with its key as the unique id', async () => {
  for (const guide of loadGuides()) {
    const { body } = await get(`/guides/${guide.slug}`)
    for (const { key } of listGuideSections(guide).filter((section) => section.key !== 'intro'))
      expect(body).toContain(`<h2 id="${key}">`)
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
  }
})

describe('the link to report a mistake', () => {
  test('opens the contact form with the topic and the passage filled in', async () => {
    const guide = loadGuides().find(({ slug }) => slug === 'renew-green-card')
    const section = guide && listGuideSections(guide).find(({ key }) => key !== 'intro')
    const { body } = await get(`/contact?passage=${encodeURIComponent(section?.id ?? '')}`)
    expect(body).toMatch(/<input [^>]*name="topic" type="radio" value="correction"[^>]* checked>/)
    expect(body).toContain(`>About “${section?.heading}” (${section?.id}):\n\n</textarea>`)
  })

  test.for(['nothing%23here', 'work-permit%23nothing', '%3Cb%3E'])(
    'leaves the message empty for the unknown passage %s',
    async (passage) => {
      const { status, body } = await get(`/contact?passage=${passage}`)
      expect(status).toBe(200)
      expect(body).toMatch(/<textarea[^>]*><\/textarea>/)
    },
  )
})
