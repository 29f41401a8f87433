import { expect, test } from 'vitest'
import { renderConnectPage } from './connect-page.ts'
import { toMarkup } from './html.ts'

const SIGNED_IN_URL = 'https://plainpath.example/mcp'
const PUBLIC_URL = 'https://mcp.plainpath.example/mcp'
const renderPage = (publicUrl: string | undefined) =>
  toMarkup(
    renderConnectPage({
      signedInUrl: SIGNED_IN_URL,
      publicUrl,
      documents: [{ href: '/mcp.md', text: 'Examples' }],
    }),
  )

test('the page shows the public address, then the signed-in one, and a command with the public one', () => {
  const markup = renderPage(PUBLIC_URL)
  const publicIndex = markup.indexOf(`<code>${PUBLIC_URL}</code>`)
  const signedInIndex = markup.indexOf(`<code>${SIGNED_IN_URL}</code>`)
  expect(publicIndex).toBeGreaterThan(0)
  expect(signedInIndex).toBeGreaterThan(publicIndex)
  expect(markup).toContain(`claude mcp add --transport http plainpath ${PUBLIC_URL}`)
})

test('the page shows only the signed-in address if no public one is configured', () => {
  const markup = renderPage(undefined)
  expect(markup).not.toContain(PUBLIC_URL)
  expect(markup).not.toMatch(/[Ww]ithout sign-in|No sign-in|undefined/)
  expect(markup).toContain(`claude mcp add --transport http plainpath ${SIGNED_IN_URL}`)
})

test('the page lists three steps for each app', () => {
  const [, afterHeading = ''] = renderPage(PUBLIC_URL).split('id="apps"')
  const [section = ''] = afterHeading.split('<h2')
  const lists = [...section.matchAll(/<ol>([^]*?)<\/ol>/g)]
  const stepCounts = lists.map(([, list = '']) => list.match(/<li>/g)?.length)
  expect(stepCounts.length).toBe(section.match(/<h3>/g)?.length)
  expect(new Set(stepCounts)).toEqual(new Set([3]))
})

test.for([
  ['who sees what is typed into the app', 'The company behind the app sees what you type there'],
  ['where no question is kept', 'href="/ask"'],
  ['when to continue a sign-in', 'Continue only if you yourself just connected that app'],
  ['never to type the code into a chat', 'Never type the code into a chat'],
  ['how long the permission lasts', 'The permission ends after 30 days'],
  ['that a person can end connections', 'you can end one or all of them'],
  ['where to find urgent help', 'href="/get-help"'],
])('the page says %s', ([, words]) => {
  expect(renderPage(PUBLIC_URL)).toContain(words)
})
