import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runInNewContext } from 'node:vm'
import { APP_NAMES, type AppName } from '@plainpath/metadata'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readManifests } from './read-manifests.ts'

const Containers = z.array(
  z.looseObject({
    image: z.string(),
    command: z.array(z.string()).optional(),
    env: z.array(z.looseObject({ name: z.string() })).default([]),
    envFrom: z.array(z.unknown()).optional(),
    securityContext: z.unknown(),
  }),
)
const PodSpec = z.looseObject({
  initContainers: Containers,
  containers: Containers,
  securityContext: z.unknown(),
})
const Job = z.looseObject({ spec: z.looseObject({ template: z.looseObject({ spec: PodSpec }) }) })
const CronJob = z.looseObject({ spec: z.looseObject({ jobTemplate: Job }) })
const Policy = z.looseObject({ spec: z.looseObject({ egress: z.unknown() }) })

const find = (part: 'base' | 'backups', kind: string, name: string) =>
  readManifests(part).find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)
    ?.manifest

const readBackupPod = (app: AppName) =>
  CronJob.parse(find('backups', 'CronJob', `${app}-backup`)).spec.jobTemplate.spec.template.spec

test.for(APP_NAMES)(
  'the backup job of %s has the image, settings, rights and connections of its migration job',
  (app: AppName) => {
    const backup = readBackupPod(app)
    const migration = Job.parse(find('base', 'Job', `${app}-migrate`)).spec.template.spec
    const [backupContainer, migrationContainer] = [backup.containers[0], migration.initContainers[0]]
    expect(backupContainer?.image).toBe(migrationContainer?.image)
    expect(backupContainer?.envFrom).toEqual(migrationContainer?.envFrom)
    expect(backupContainer?.env.filter(({ name }) => name !== 'POD_NAME')).toEqual(migrationContainer?.env)
    expect(backup.securityContext).toEqual(migration.securityContext)
    for (const { securityContext } of [...backup.initContainers, ...backup.containers])
      expect(securityContext).toEqual(migrationContainer?.securityContext)
    const readEgress = (part: 'base' | 'backups', name: string) =>
      Policy.parse(find(part, 'NetworkPolicy', name)).spec.egress
    expect(readEgress('backups', `${app}-backup`)).toEqual(readEgress('base', `${app}-migrate`))
  },
)

describe.for(APP_NAMES)('before a backup of %s', (app) => {
  /** Runs the script of the manifest on a folder with files of these ages in days. Returns the names of the files that remain. */
  async function deleteOld(ages: Readonly<Record<string, number>>): Promise<string[]> {
    await using folder = await fs.promises.mkdtempDisposable(path.join(tmpdir(), 'plainpath-backups-'))
    for (const [name, days] of Object.entries(ages)) {
      const file = path.join(folder.path, name)
      if (name.startsWith('folder')) fs.mkdirSync(file)
      else fs.writeFileSync(file, '')
      const time = new Date(Date.now() - days * 86_400_000)
      fs.utimesSync(file, time, time)
    }
    const [executable, option, script = ''] = readBackupPod(app).initContainers[0]?.command ?? []
    expect([executable, option]).toEqual(['/usr/local/bin/node', '-e'])
    runInNewContext(script.replaceAll('/backups', folder.path), { fs })
    return fs.readdirSync(folder.path).sort()
  }

  test('files older than 34 days are deleted, but no folders', async () => {
    const ages = { 'a-new': 1, 'b-33-days': 33, 'c-35-days': 35, 'folder-old': 35, 'old.unfinished': 35 }
    expect(await deleteOld(ages)).toEqual(['a-new', 'b-33-days', 'folder-old'])
  })

  test('the newest file is not deleted, however old it is', async () => {
    expect(await deleteOld({ 'a-older': 41, 'b-newest': 40 })).toEqual(['b-newest'])
  })

  test('an unfinished file does not count as the newest', async () => {
    expect(await deleteOld({ 'a-newest': 40, 'b.unfinished': 36, 'c.unfinished': 1 })).toEqual([
      'a-newest',
      'c.unfinished',
    ])
  })
})
