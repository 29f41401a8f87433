import { expect, test } from 'vitest'
import { renderConnectPage } from './connect-page.ts'
import { toMarkup } from './html.ts'

const SIGNED_IN = 'https://plainpath.example/mcp'
const OPEN = 'https://mcp.plainpath.example/mcp'
const page = (open: string | undefined) =>
  toMarkup(
    renderConnectPage({
      signedInUrl: SIGNED_IN,
      publicUrl: open,
      documents: [{ href: '/mcp.md', text: 'Examples' }],
    }),
  )

test('the page shows both addresses, the one without sign-in first, and then commands with it', () => {
  const markup = page(OPEN)
  const [first, second] = [
    markup.indexOf(`<code>${OPEN}</code>`),
    markup.indexOf(`<code>${SIGNED_IN}</code>`),
  ]
  expect(first).toBeGreaterThan(0)
  expect(second).toBeGreaterThan(first)
  expect(markup).toContain(`claude mcp add --transport http plainpath ${OPEN}`)
})

test('the page names only the address with sign-in if no origin is configured for the other', () => {
  const markup = page(undefined)
  expect(markup).not.toContain(OPEN)
  expect(markup).not.toMatch(/[Ww]ithout sign-in|No sign-in|undefined/)
  expect(markup).toContain(`claude mcp add --transport http plainpath ${SIGNED_IN}`)
})

test('each app has three steps', () => {
  const [, apps = ''] = page(OPEN).split('id="apps"')
  const [own = ''] = apps.split('<h2')
  const steps = [...own.matchAll(/<ol>([^]*?)<\/ol>/g)].map(([, list = '']) => list.match(/<li>/g)?.length)
  expect(steps.length).toBe(own.match(/<h3>/g)?.length)
  expect(new Set(steps)).toEqual(new Set([3]))
})

test.for([
  ['that the app sees what is typed', 'The company behind the app sees what you type there'],
  ['where nothing is kept', 'href="/ask"'],
  ['who may continue', 'Continue only if you yourself just connected that app'],
  ['where the code goes', 'Never type the code into a chat'],
  ['how long it lasts', 'The permission ends after 30 days'],
  ['how to end it', 'you can end one or all of them'],
  ['the urgent help', 'href="/get-help"'],
])('the page says %s', ([, words]) => {
  expect(page(OPEN)).toContain(words)
})
