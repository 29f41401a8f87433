import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { html, renderProblemPage, renderProblemsPage } from './index.ts'

test('the page of a problem has its title, status, meaning and remedy, and its own address', () => {
  const markup = toMarkup(
    renderProblemPage({
      origin: 'https://plainpath.example',
      code: 'invalid-request',
      title: 'The request is not valid',
      status: 400,
      meaning: 'A member is missing & needed: see detail.',
      remedy: html`Look at <code>errors</code>.`,
    }),
  )
  expect(markup).toContain('<h1>The request is not valid</h1>')
  expect(markup).toContain('Error <code>invalid-request</code>, HTTP status 400')
  expect(markup).toMatch(
    /What it means<\/h2>\s*<p>A member is missing &amp; needed: see <code>detail<\/code>\.<\/p>/,
  )
  expect(markup).toMatch(/What to do next<\/h2>\s*<p>Look at <code>errors<\/code>\.<\/p>/)
  expect(markup).toContain('https://plainpath.example/problems/invalid-request')
})

test('the page of all problems lists each once, under its status', () => {
  const createProblem = (code: string, status: number) => ({ code, status, title: `Title of ${code}` })
  const problems = [createProblem('b', 404), createProblem('a', 400), createProblem('c', 404)]
  const markup = toMarkup(renderProblemsPage(problems))
  const rows = /<th scope="rowgroup" rowspan="(\d)">(\d+)<\/th>|<a href="\/problems\/(\w)">/g
  expect(
    [...markup.matchAll(rows)].map(([, count, status, code]) => code ?? `${count} of ${status}`),
  ).toEqual(['1 of 400', 'a', '2 of 404', 'b', 'c'])
})
