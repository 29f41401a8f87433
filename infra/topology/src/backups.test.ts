import { APP_NAMES, type AppName } from '@plainpath/metadata'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readManifests } from './read-manifests.ts'

const PodSpec = z.looseObject({
  initContainers: z.array(
    z.looseObject({
      image: z.string(),
      env: z.array(z.looseObject({ name: z.string() })),
      envFrom: z.array(z.unknown()).optional(),
      securityContext: z.unknown(),
    }),
  ),
  containers: z.array(z.looseObject({ securityContext: z.unknown() })),
  securityContext: z.unknown(),
})
const Job = z.looseObject({ spec: z.looseObject({ template: z.looseObject({ spec: PodSpec }) }) })
const CronJob = z.looseObject({ spec: z.looseObject({ jobTemplate: Job }) })
const Policy = z.looseObject({ spec: z.looseObject({ egress: z.unknown() }) })

const find = (part: 'base' | 'backups', kind: string, name: string) =>
  readManifests(part).find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)
    ?.manifest

test.for(APP_NAMES)(
  'the backup job of %s has the image, settings, rights and connections of its migration job',
  (app: AppName) => {
    const backup = CronJob.parse(find('backups', 'CronJob', `${app}-backup`)).spec.jobTemplate.spec.template
      .spec
    const migration = Job.parse(find('base', 'Job', `${app}-migrate`)).spec.template.spec
    const [backupContainer, migrationContainer] = [backup.initContainers[0], migration.initContainers[0]]
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
