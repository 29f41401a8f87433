import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findNewestRelease } from './newest-release.ts'

/** Creates a repository with two commits, which is deleted after the test. `writeReleases` writes its `docs/releases.json`. */
function createRepository() {
  const root = mkdtempSync(path.join(tmpdir(), 'plainpath-releases-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Somebody')
  git('config', 'user.email', 'somebody@example.org')
  const createCommit = () => {
    git('commit', '--quiet', '--allow-empty', '--message', 'One more')
    return git('rev-parse', 'HEAD')
  }
  const [firstCommit, secondCommit] = [createCommit(), createCommit()]
  mkdirSync(path.join(root, 'docs'))
  const writeReleases = (releases: unknown) =>
    writeFileSync(path.join(root, 'docs/releases.json'), JSON.stringify(releases))
  return { root, git, firstCommit, secondCommit, writeReleases }
}

test('the newest release is the last one in the file, with or without tags', () => {
  const { root, git, firstCommit, secondCommit, writeReleases } = createRepository()
  const releases = [
    { tag: 'release-0.1.0', commit: firstCommit },
    { tag: 'release-0.2.0', commit: secondCommit },
  ]
  writeReleases(releases)
  expect(findNewestRelease(root)).toEqual(releases[1])
  git('tag', 'release-0.1.0', firstCommit)
  git('tag', '--annotate', '--message', 'Second', 'release-0.2.0', secondCommit)
  expect(findNewestRelease(root)).toEqual(releases[1])
})

test('in a clone without the history of the release, the error says what to fetch', () => {
  const { root, writeReleases } = createRepository()
  const commit = 'a'.repeat(40)
  writeReleases([{ tag: 'release-0.1.0', commit }])
  expect(() => findNewestRelease(root)).toThrow(
    `The commit of release-0.1.0 is not in this clone, which lacks a part of its history: git fetch --unshallow origin`,
  )
})

test.for([
  ['no release', 'names no release', () => []],
  ['a tag that is not the tag of a release', 'pattern', (commit: string) => [{ tag: 'v1', commit }]],
  ['a short commit', 'pattern', (commit: string) => [{ tag: 'release-0.1.0', commit: commit.slice(0, 7) }]],
] as const)('docs/releases.json with %s is rejected', ([_name, message, createReleases]) => {
  const { root, firstCommit, writeReleases } = createRepository()
  writeReleases(createReleases(firstCommit))
  expect(() => findNewestRelease(root)).toThrow(message)
})

test('a tag that is not in the file, or has another commit there, is rejected', () => {
  const { root, git, firstCommit, secondCommit, writeReleases } = createRepository()
  writeReleases([{ tag: 'release-0.1.0', commit: firstCommit }])
  git('tag', 'release-0.2.0', secondCommit)
  expect(() => findNewestRelease(root)).toThrow('docs/releases.json says nothing of it')
  git('tag', '--delete', 'release-0.2.0')
  git('tag', 'release-0.1.0', secondCommit)
  expect(() => findNewestRelease(root)).toThrow(`docs/releases.json says ${firstCommit}`)
})

test('a release that is not an ancestor of the checked-out commit is rejected', () => {
  const { root, git, firstCommit, secondCommit, writeReleases } = createRepository()
  writeReleases([{ tag: 'release-0.1.0', commit: secondCommit }])
  git('checkout', '--quiet', firstCommit)
  expect(() => findNewestRelease(root)).toThrow('is not an ancestor')
})
