import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newestRelease } from './newest-release.ts'

/** Creates a repository with two commits, some of which `releases` names. */
function clone() {
  const root = mkdtempSync(path.join(tmpdir(), 'plainpath-releases-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Somebody')
  git('config', 'user.email', 'somebody@example.org')
  const commit = () => {
    git('commit', '--quiet', '--allow-empty', '--message', 'One more')
    return git('rev-parse', 'HEAD')
  }
  const [first, second] = [commit(), commit()]
  mkdirSync(path.join(root, 'docs'))
  const write = (releases: unknown) =>
    writeFileSync(path.join(root, 'docs/releases.json'), JSON.stringify(releases))
  return { root, git, first, second, write }
}

test('finds the last release of the file, with or without its tag', () => {
  const { root, git, first, second, write } = clone()
  const releases = [
    { tag: 'release-0.1.0', commit: first },
    { tag: 'release-0.2.0', commit: second },
  ]
  write(releases)
  expect(newestRelease(root)).toEqual(releases[1])
  git('tag', 'release-0.1.0', first)
  git('tag', '--annotate', '--message', 'Second', 'release-0.2.0', second)
  expect(newestRelease(root)).toEqual(releases[1])
})

test('says what to fetch in a clone without the history of the release', () => {
  const { root, write } = clone()
  const commit = 'a'.repeat(40)
  write([{ tag: 'release-0.1.0', commit }])
  expect(() => newestRelease(root)).toThrow(
    `The commit of release-0.1.0 is not in this clone, which lacks a part of its history: git fetch --unshallow origin`,
  )
})

test.for([
  ['no release at all', 'names no release', () => []],
  ['a name that is no release', 'pattern', (commit: string) => [{ tag: 'v1', commit }]],
  ['a short commit', 'pattern', (commit: string) => [{ tag: 'release-0.1.0', commit: commit.slice(0, 7) }]],
] as const)('%s is an error', ([_what, says, releases]) => {
  const { root, first, write } = clone()
  write(releases(first))
  expect(() => newestRelease(root)).toThrow(says)
})

test('rejects a tag that is not in the file, or has another commit there', () => {
  const { root, git, first, second, write } = clone()
  write([{ tag: 'release-0.1.0', commit: first }])
  git('tag', 'release-0.2.0', second)
  expect(() => newestRelease(root)).toThrow('docs/releases.json says nothing of it')
  git('tag', '--delete', 'release-0.2.0')
  git('tag', 'release-0.1.0', second)
  expect(() => newestRelease(root)).toThrow(`docs/releases.json says ${first}`)
})

test('rejects a commit that is not an ancestor of the checkout', () => {
  const { root, git, first, second, write } = clone()
  write([{ tag: 'release-0.1.0', commit: second }])
  git('checkout', '--quiet', first)
  expect(() => newestRelease(root)).toThrow('is not an ancestor')
})
