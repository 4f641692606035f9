"""A cluster's ACLs."""

from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from lab.kafka.connection import REQUEST_S, Connection, translated
from lab.kafka.values import Acl


class Acls(Connection):
    def acls(self) -> list[Acl] | None:
        """Every ACL; None when the cluster has no authorizer that could keep any."""
        anything = AclBindingFilter(
            *(ResourceType.ANY, None, ResourcePatternType.ANY, None, None),
            *(AclOperation.ANY, AclPermissionType.ANY),
        )
        with translated(f'describing the ACLs of cluster "{self.alias}"'):
            try:
                found = self._admin.describe_acls(anything, request_timeout=REQUEST_S).result()
            except KafkaException as error:
                if error.args[0].code() == KafkaError.SECURITY_DISABLED:
                    return None
                raise
        return sorted(_acl(binding) for binding in found)

    def create_acl(self, acl: Acl) -> None:
        binding = AclBinding(*_acl_binding(acl))
        with translated(f'creating an ACL in cluster "{self.alias}"'):
            self._admin.create_acls([binding], request_timeout=REQUEST_S)[binding].result()

    def delete_acl(self, acl: Acl) -> None:
        exactly = AclBindingFilter(*_acl_binding(acl))
        with translated(f'deleting an ACL of cluster "{self.alias}"'):
            self._admin.delete_acls([exactly], request_timeout=REQUEST_S)[exactly].result()


def _acl(binding: Any) -> Acl:
    return Acl(
        resource=binding.restype.name.lower(),
        name=binding.name,
        pattern=binding.resource_pattern_type.name.lower(),
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation.name.lower(),
        permission=binding.permission_type.name.lower(),
    )


def _acl_binding(acl: Acl) -> tuple[Any, ...]:
    return (
        ResourceType[acl.resource.upper()],
        acl.name,
        ResourcePatternType[acl.pattern.upper()],
        acl.principal,
        acl.host,
        AclOperation[acl.operation.upper()],
        AclPermissionType[acl.permission.upper()],
    )
