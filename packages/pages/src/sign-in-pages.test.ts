import { describe, expect, test } from 'vitest'
import { type Html, toMarkup } from './html.ts'
import {
  type AppOnPage,
  renderAllowedPage,
  renderNoCodesLeftPage,
  renderNoSignInPage,
  renderSignInCodePage,
  renderSignInPage,
} from './sign-in-pages.ts'

const FORM = { action: '/oauth/sign-in/uid', token: 'token' }
const SITE_APP: AppOnPage = {
  destination: { kind: 'site', host: 'claude.ai' },
  name: 'Claude',
  clientHost: 'claude.ai',
}
const LOOPBACK_APP: AppOnPage = { destination: { kind: 'loopback' }, name: 'Atlas', clientHost: 'vscode.dev' }
const SCHEME_APP: AppOnPage = { destination: { kind: 'scheme', scheme: 'cursor:' } }
const CODE_PAGE = { ...FORM, email: 'ana@example.org', attempt: 'cla_x', codesLeft: 2 }

const pages: Record<string, Html> = {
  address: renderSignInPage({ ...FORM, app: SITE_APP }),
  'address again': renderSignInPage({ ...FORM, app: LOOPBACK_APP, lastCodeState: 'locked' }),
  'bad address': renderSignInPage({
    ...FORM,
    app: SCHEME_APP,
    email: '"><i>',
    mistake: 'This is not an e-mail address.',
  }),
  code: renderSignInCodePage({ ...CODE_PAGE, app: SITE_APP }),
  'wrong code': renderSignInCodePage({ ...CODE_PAGE, app: LOOPBACK_APP, mistake: 'This is not the code.' }),
  'code, too soon': renderSignInCodePage({ ...CODE_PAGE, app: SCHEME_APP, isTooSoon: true, codesLeft: 1 }),
  'last code': renderSignInCodePage({ ...CODE_PAGE, app: SITE_APP, codesLeft: 0 }),
  'no codes left': renderNoCodesLeftPage({ ...FORM, canStillType: true }),
  allowed: renderAllowedPage({ ...FORM, app: SITE_APP }),
  gone: renderNoSignInPage(),
}

describe.for(Object.entries(pages))('the page "%s"', ([, page]) => {
  const markup = toMarkup(page)
  test('has one h1, no script, no "please", and sentences of at most 26 words', () => {
    expect(markup.match(/<h1>/g)).toHaveLength(1)
    expect(markup).not.toMatch(/<script|please|!</i)
    const text = markup.replaceAll(/<[^>]*>/g, ' ')
    for (const sentence of text.split(/[.?:]\s/))
      expect(sentence.trim().split(/\s+/).length, sentence).toBeLessThanOrEqual(26)
  })

  test('posts each form to its own address with its token, and escapes the input', () => {
    expect(markup).not.toContain('<i>')
    for (const form of markup.split('<form').slice(1)) {
      expect(form).toContain('action="/oauth/sign-in/uid" method="post"')
      expect(form).toContain('<input name="token" type="hidden" value="token">')
    }
  })
})

test.for([
  [renderSignInPage({ ...FORM, app: SITE_APP }), 'Continue'],
  [renderSignInCodePage({ ...CODE_PAGE, app: SITE_APP }), 'Allow'],
  [renderAllowedPage({ ...FORM, app: SITE_APP }), 'Continue'],
] as const)(
  'a Deny button of the same kind follows the button that allows (page %#)',
  ([page, allowLabel]) => {
    expect(toMarkup(page)).toMatch(
      new RegExp(
        `<button type="submit" name="step" value="\\w+">${allowLabel}</button>\\n<button type="submit" name="step" value="deny">Deny</button>`,
      ),
    )
  },
)

test('every page with a button that allows says what happens next before the Deny button', () => {
  for (const name of ['address', 'code', 'allowed']) {
    const markup = toMarkup(pages[name] ?? renderNoSignInPage())
    expect(markup.indexOf('What happens next')).toBeGreaterThan(0)
    expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('value="deny"'))
  }
})

test('the sign-in page shows the host of an app, and says that we did not check its name', () => {
  const markup = toMarkup(renderSignInPage({ ...FORM, app: { ...SITE_APP, name: 'x (domain checked) <b>' } }))
  expect(markup).toContain('<p class="destination" id="destination"><bdi>claude.ai</bdi></p>')
  expect(markup).toContain('“x (…) &lt;b&gt;”')
  expect(markup).toContain('The app gave us that name. We did not check it.')
  expect(markup).not.toContain('It says that it is an app of')
  expect(markup).toContain('Only continue if you yourself just connected an app at claude.ai.')
})

test('the sign-in page of a program on a device warns that any program could ask, and names the host of its document', () => {
  const markup = toMarkup(renderSignInPage({ ...FORM, app: LOOPBACK_APP }))
  expect(markup).toContain('<bdi>a program on this computer</bdi>')
  expect(markup).toContain('Any program there could.')
  expect(markup).toContain(
    'It says that it is an app of <strong>vscode.dev</strong>. On your own device, we cannot check that.',
  )
  expect(toMarkup(renderSignInPage({ ...FORM, app: SITE_APP }))).not.toContain('Any program there could.')
})
